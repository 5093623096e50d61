// SPDX-License-Identifier: MIT
#include "long_call.h"

#include <pybind11/stl/filesystem.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "ria/weights.h"

namespace ria::python {

namespace {

constexpr std::chrono::milliseconds kLook{50};  // between two looks at signals

bool is_main_thread() {
  const py::module_ threading = py::module_::import("threading");
  return threading.attr("current_thread")().is(threading.attr("main_thread")());
}

void raise_os_error(const std::error_code& code, const std::string& file) {
  // OSError chooses its own kind (FileNotFoundError, PermissionError) by the number.
  const py::object error =
      py::reinterpret_borrow<py::object>(PyExc_OSError)(code.value(), code.message(), file);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

}  // namespace

void LongCall::fail(const py::error_already_set& error) {
  if (!raised_) raised_ = std::make_exception_ptr(error);
  stop_.request_stop();
}

ProgressCallback LongCall::progress(const py::object& callback) {
  if (callback.is_none()) return {};
  // The caller's reference outlives the call; no thread of the library counts references.
  return [this, function = callback.ptr()](int done, int total) {
    const py::gil_scoped_acquire gil;
    if (raised_) return;
    try {
      py::reinterpret_borrow<py::object>(function)(done, total);
    } catch (const py::error_already_set& error) {
      fail(error);
    }
  };
}

void LongCall::run(const std::function<void()>& work) {
  std::exception_ptr thrown;
  const bool watched = is_main_thread();
  {
    const py::gil_scoped_release released;
    try {
      watched ? run_watched(work) : work();
    } catch (...) {
      thrown = std::current_exception();
    }
  }
  if (raised_) std::rethrow_exception(raised_);
  if (thrown) std::rethrow_exception(thrown);
}

void LongCall::run_watched(const std::function<void()>& work) {
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::exception_ptr thrown;
  std::thread worker([&] {
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    done = true;
    ended.notify_one();
  });
  for (std::unique_lock lock(mutex); !ended.wait_for(lock, kLook, [&] { return done; });) {
    lock.unlock();
    {
      const py::gil_scoped_acquire gil;
      if (PyErr_CheckSignals() != 0) fail(py::error_already_set());
    }
    lock.lock();
  }
  worker.join();
  if (thrown) std::rethrow_exception(thrown);
}

RunOptions RunKeywords::options(LongCall& call) const {
  RunOptions run;
  run.num_threads = num_threads;
  run.progress = call.progress(progress);
  run.stop = call.stop();
  run.resume = resume;
  run.names_relative_to = relative_to.value_or("");
  run.feature_cache = feature_cache.value_or("");
  return run;
}

const std::filesystem::path& existing(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) {
    throw std::filesystem::filesystem_error(
        "", path, std::make_error_code(std::errc::no_such_file_or_directory));
  }
  return path;
}

void add_exceptions(py::module_& module) {
  static py::exception<Interrupted> interrupted(module, "Interrupted", PyExc_RuntimeError);
  interrupted.attr("__doc__") =
      "A run was stopped between two pictures; what was finished is kept for the next run.";
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Interrupted& error) {
      interrupted(error.what());
    } catch (const DownloadInterrupted& error) {
      interrupted(error.what());
    } catch (const std::filesystem::filesystem_error& error) {
      raise_os_error(error.code(), error.path1().string());
    }
  });
}

}  // namespace ria::python
