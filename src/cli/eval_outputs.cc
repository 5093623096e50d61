// SPDX-License-Identifier: MIT
#include "cli/eval_outputs.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <stdexcept>

#include "cli/flags.h"
#include "util/files.h"

namespace ria::cli {

namespace {

namespace fs = std::filesystem;
using Time = std::chrono::system_clock::time_point;

std::string local_time(Time time, const char* format) {
  return fmt::format(fmt::runtime(fmt::format("{{:{}}}", format)),
                     fmt::localtime(std::chrono::system_clock::to_time_t(time)));
}

/// The lines of info.log, and of debug.log, which has more of them.
class RunLog {
 public:
  void info(Time at, const std::string& text) {
    info_ += fmt::format("{} {}\n", local_time(at, "%Y-%m-%d %H:%M:%S"), text);
    line(at, "INFO", text);
  }
  void debug(Time at, const std::string& text) { line(at, "DEBUG", text); }
  void save(const fs::path& folder) const {
    write_text(folder / "info.log", info_);
    write_text(folder / "debug.log", debug_);
  }

 private:
  void line(Time at, const char* level, const std::string& text) {
    const auto since = std::chrono::floor<std::chrono::milliseconds>(at.time_since_epoch());
    debug_ += fmt::format("{}.{:03} | {:<8} | ria:eval - {}\n",
                          local_time(at, "%Y-%m-%d %H:%M:%S"),
                          since.count() % 1000,
                          level,
                          text);
  }

  std::string info_, debug_;
};

/// A folder that is not there yet: two runs may start in one second.
std::unique_ptr<AtomicFolder> fresh_folder(
    const fs::path& parent,
    const std::string& name,
    const std::vector<std::unique_ptr<AtomicFolder>>& taken) {
  const auto is_taken = [&](const fs::path& folder) {
    return fs::exists(folder) || std::any_of(taken.begin(), taken.end(), [&](const auto& other) {
             return other->folder() == folder;
           });
  };
  fs::path folder = parent / name;
  for (int i = 2; is_taken(folder); ++i) folder = parent / fmt::format("{}_{}", name, i);
  return std::make_unique<AtomicFolder>(folder);
}

/// The method as the name of one folder.
std::string folder_name(std::string method) {
  std::replace(method.begin(), method.end(), '/', '_');
  return method;
}

}  // namespace

EvalOutputs::~EvalOutputs() {
  // Last made, first removed: each takes away the folders above it that it made.
  while (!folders_.empty()) folders_.pop_back();
}

void EvalOutputs::add(CLI::App& command) {
  const std::string group = "Outputs in logs/<log_dir>/<time>/, as VPR-methods-evaluation";
  command
      .add_option("--log_dir",
                  log_dir_,
                  "write info.log and debug.log below logs/NAME; several methods have a folder "
                  "each in it; with the flags below: default, if not given")
      ->type_name("NAME")
      ->group(group);
  CLI::Option* count =
      command
          .add_option("--num_preds_to_save",
                      num_preds_to_save_,
                      "for each query, preds/NNN.jpg and .txt with its first so many answers")
          ->type_name("N")
          ->group(group);
  command
      .add_flag("--save_only_wrong_preds",
                save_only_wrong_preds_,
                "leave out the queries whose first answer is right")
      ->needs(count)
      ->group(group);
  command
      .add_flag("--save_descriptors",
                save_descriptors_,
                "database_descriptors.npy and queries_descriptors.npy, float32")
      ->group(group);
}

bool EvalOutputs::wanted() const {
  return log_dir_ || num_preds_to_save_ != 0 || save_descriptors_;
}

SavePredictionsOptions EvalOutputs::preds() const {
  SavePredictionsOptions options;
  options.num_preds = num_preds_to_save_;
  options.only_wrong = save_only_wrong_preds_;
  options.labels = labels_;
  return options;
}

void EvalOutputs::prepare(const std::vector<std::string>& methods,
                          bool labels,
                          EvaluateOptions& options) {
  if (log_dir_ && log_dir_->empty()) {
    throw std::invalid_argument("--log_dir is empty, a name was expected");
  }
  if (save_only_wrong_preds_ && !labels) {
    throw std::invalid_argument("--save_only_wrong_preds has no meaning with --no_labels");
  }
  labels_ = labels;
  try {
    if (num_preds_to_save_ != 0) preds().validate();
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("--num_preds_to_save: {}", error.what()));
  }
  if (!wanted()) return;
  options.keep_descriptors = save_descriptors_;
  options.num_predictions = std::max(options.num_predictions, num_preds_to_save_);
  start_ = std::chrono::system_clock::now();
  const std::string name = local_time(start_, "%Y-%m-%d_%H-%M-%S");
  for (const std::string& method : methods) {
    fs::path parent = fs::path("logs") / log_dir_.value_or("default");
    if (methods.size() > 1) parent /= folder_name(method);
    folders_.push_back(fresh_folder(parent, name, folders_));
  }
}

std::string EvalOutputs::arguments(const Evaluation& e, const EvaluateOptions& options) const {
  return fmt::format(
      "Arguments: method={}, dataset={}, recall_values=[{}], no_labels={}, num_preds_to_save={}, "
      "save_only_wrong_preds={}, save_descriptors={}, log_dir={}, num_threads={}, "
      "weights_sha256={}, options={}",
      e.method,
      e.dataset,
      fmt::join(options.recall_values, ", "),
      !labels_,
      num_preds_to_save_,
      save_only_wrong_preds_,
      save_descriptors_,
      log_dir_.value_or("default"),
      options.run.num_threads,
      e.weights_sha256.empty() ? "none" : e.weights_sha256,
      e.options);
}

void EvalOutputs::fill(const AtomicFolder& target,
                       const Dataset& dataset,
                       const Evaluation& e,
                       const EvaluateOptions& options) const {
  const auto now = [] { return std::chrono::system_clock::now(); };
  const std::string folder = target.folder().string();
  RunLog log;
  log.info(start_, command_line());
  log.info(start_, arguments(e, options));
  log.info(start_,
           fmt::format("Testing with {} with a {} backbone and descriptors dimension {}",
                       e.method,
                       choose_method(e.method).method->backbone,
                       e.dim));
  log.info(start_, fmt::format("The outputs are being saved in {}", folder));
  log.info(start_,
           fmt::format("Testing on < #queries: {}; #database: {} >", e.queries, e.database));
  for (const Failure& failure : e.failures) {
    log.info(now(), "Skipped: " + failure_text(failure));
  }
  for (const auto& [stage, seconds] : e.seconds) {
    log.debug(now(), fmt::format("{} took {:.3f} s", stage, seconds));
  }
  if (save_descriptors_) {
    log.info(now(), fmt::format("Saving the descriptors in {}", folder));
    save_descriptors(target.temporary(), e);
  }
  if (labels_) log.info(now(), e.line());
  if (num_preds_to_save_ != 0) {
    log.info(now(), "Saving final predictions");
    SavePredictionsOptions saved = preds();
    saved.run = options.run;
    saved.run.progress = run_options("saving", options.run.num_threads).progress;
    const int count = save_predictions(target.temporary(), dataset, e, saved);
    log.debug(now(), fmt::format("Saved the predictions of {} queries", count));
  }
  log.save(target.temporary());
}

void EvalOutputs::write(const Dataset& dataset,
                        const std::vector<Evaluation>& evaluations,
                        const EvaluateOptions& options) {
  for (std::size_t m = 0; m < folders_.size(); ++m) {
    fill(*folders_[m], dataset, evaluations[m], options);
  }
  for (const auto& folder : folders_) {
    folder->commit();
    fmt::print("saved: {}\n", folder->folder().string());
  }
}

}  // namespace ria::cli
