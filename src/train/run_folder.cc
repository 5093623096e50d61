// SPDX-License-Identifier: MIT
#include "train/run_folder.h"

#include <fmt/format.h>

#include <iterator>
#include <stdexcept>

#include "util/files.h"
#include "util/json.h"

namespace ria {

namespace fs = std::filesystem;

RunFolder::RunFolder(fs::path folder, bool writes) : folder_(std::move(folder)) {
  if (folder_.empty()) {
    throw std::invalid_argument("out is empty, the folder of the run was expected");
  }
  if (!writes) return;
  made_.emplace(folder_);
  check_writable(checkpoint());
  remove_leftovers();
}

void RunFolder::remove_leftovers() const {
  // What a run that was killed was about to write; such files are large.
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    for (const fs::path& file : {model(), last(), checkpoint()}) {
      if (name.starts_with("." + file.filename().string() + ".")) fs::remove(entry.path());
    }
  }
}

void RunFolder::keep() {
  if (made_) made_->keep();
}

void RunFolder::forget_checkpoint() const { fs::remove(checkpoint()); }

void RunFolder::write_config(const nlohmann::ordered_json& config) const {
  write_text(folder_ / "config.json", json_text(config, 2) + "\n");
}

void RunFolder::write_log(const std::vector<TrainLogRow>& log) const {
  write_text(folder_ / "log.csv", log_csv(log));
}

std::string log_csv(const std::vector<TrainLogRow>& log) {
  const auto recall = [](const std::optional<double>& percent) {
    return percent ? fmt::format("{:.2f}", *percent) : "";
  };
  std::string out =
      "step,epoch,loss,lr,head_lr,gradient_norm,pictures_per_second,positive_pairs,negative_pairs,"
      "recall_at_1,recall_at_5\n";
  for (const TrainLogRow& row : log) {
    fmt::format_to(std::back_inserter(out),
                   "{},{},{:.6g},{:.6g},{:.6g},{:.6g},{:.1f},{},{},{},{}\n",
                   row.step,
                   row.epoch,
                   row.loss,
                   row.lr,
                   row.head_lr,
                   row.gradient_norm,
                   row.pictures_per_second,
                   row.positive_pairs,
                   row.negative_pairs,
                   recall(row.recall_at_1),
                   recall(row.recall_at_5));
  }
  return out;
}

}  // namespace ria
