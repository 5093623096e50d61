// SPDX-License-Identifier: MIT
// What `ria eval` leaves on disk on demand, laid out as VPR-methods-evaluation does:
// logs/<log_dir>/<time>/ with info.log, debug.log, the descriptors and the predictions.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ria/predictions.h"
#include "util/atomic_folder.h"

namespace CLI {
class App;
}

namespace ria::cli {

class EvalOutputs {
 public:
  EvalOutputs() = default;
  ~EvalOutputs();
  EvalOutputs(const EvalOutputs&) = delete;
  EvalOutputs& operator=(const EvalOutputs&) = delete;

  void add(CLI::App& command);

  /// Makes a folder for each method, if anything is to be left, and asks the evaluation to keep
  /// what is to be saved. What cannot be done is said here, before the work.
  void prepare(const std::vector<std::string>& methods, bool labels, EvaluateOptions& options);

  /// Fills the folders; they appear when all are whole. Prints a line for each.
  void write(const Dataset& dataset,
             const std::vector<Evaluation>& evaluations,
             const EvaluateOptions& options);

 private:
  bool wanted() const;
  SavePredictionsOptions preds() const;
  std::string arguments(const Evaluation& evaluation, const EvaluateOptions& options) const;
  void fill(const AtomicFolder& folder,
            const Dataset& dataset,
            const Evaluation& evaluation,
            const EvaluateOptions& options) const;

  int num_preds_to_save_ = 0;
  bool save_only_wrong_preds_ = false;
  bool save_descriptors_ = false;
  std::optional<std::string> log_dir_;
  bool labels_ = true;
  std::chrono::system_clock::time_point start_;
  std::vector<std::unique_ptr<AtomicFolder>> folders_;  // one a method
};

}  // namespace ria::cli
