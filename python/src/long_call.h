// SPDX-License-Identifier: MIT
// Calls that take their time: without the GIL, ended by Ctrl-C, and telling how far they are.
#pragma once

#include <pybind11/pybind11.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>

#include "ria/recognizer.h"

namespace ria::python {

namespace py = pybind11;

/// One call: the stop that Ctrl-C or an exception of a callback requests, and what ends it in
/// Python.
class LongCall {
 public:
  std::stop_token stop() const { return stop_.get_token(); }
  /// `callback(done, total)` of Python, or None.
  ProgressCallback progress(const py::object& callback);

  /// Runs the work without the GIL. Called from the main thread, which alone is told of signals, it
  /// works in another and looks at signals meanwhile. Throws what the work or a callback threw, or
  /// what a signal's handler raised (KeyboardInterrupt): after the work has stopped.
  void run(const std::function<void()>& work);

  template <typename Work>
  auto result(const Work& work) {
    std::optional<decltype(work())> made;
    run([&] { made.emplace(work()); });
    return std::move(*made);
  }

 private:
  void fail(const py::error_already_set& error);
  void run_watched(const std::function<void()>& work);

  std::stop_source stop_;
  std::exception_ptr raised_;  ///< written and read with the GIL
};

/// What functions over many pictures take as keywords.
struct RunKeywords {
  int num_threads = 0;
  py::object progress = py::none();
  bool resume = true;
  std::optional<std::filesystem::path> relative_to;
  std::optional<std::filesystem::path> feature_cache;

  RunOptions options(LongCall& call) const;
};

/// Raises FileNotFoundError unless there is such a file or folder.
const std::filesystem::path& existing(const std::filesystem::path& path);

}  // namespace ria::python
