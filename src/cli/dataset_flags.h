// SPDX-License-Identifier: MIT
// Flags that say how a named dataset is read.
#pragma once

#include <string>

#include "ria/dataset.h"

namespace CLI {
class App;
}

namespace ria::cli {

class DatasetFlags {
 public:
  /// `prefix` stands before every flag's name: "val_" gives --val_split.
  void add(CLI::App& command, const std::string& prefix = "");
  /// With --positive_dist_threshold, which other commands have for folders too.
  void add_threshold(CLI::App& command, const std::string& text, const std::string& prefix = "");

  /// What the flags say; validated where the dataset is read.
  const DatasetOptions& options() const { return options_; }

 private:
  DatasetOptions options_;
};

/// The flags that name a dataset: by name and folder, by a file, or by two folders.
class DatasetSource {
 public:
  /// `prefix` stands before every flag's name: "val_" gives --val_dataset.
  void add(CLI::App& command, const std::string& prefix = "");
  /// With --no_labels, for commands that have an answer to give without them.
  void add_no_labels(CLI::App& command);

  /// What the flags name; throws std::invalid_argument naming the flag that is missing.
  Dataset load() const;
  /// Whether any dataset was named.
  bool given() const {
    return !dataset_.empty() || !database_folder_.empty() || !queries_folder_.empty();
  }
  /// Whether the right answers are known.
  bool labelled() const { return !no_labels_; }

 private:
  Dataset load_labelled() const;
  Dataset load_json() const;
  void require_folders() const;

  std::string prefix_;
  std::string dataset_, data_folder_, database_folder_, queries_folder_;
  bool no_labels_ = false;
  DatasetFlags flags_;
};

/// A file of ground truth; a name was meant if there is none and it does not look like one. `flag`
/// gave it, `folder_flag` would go with a name.
Dataset load_json_dataset(const std::string& file_or_name,
                          const std::string& flag,
                          const std::string& folder_flag);

/// One line on standard error for each remark.
void print_remarks(const std::vector<std::string>& remarks);
void print_remarks(const Dataset& dataset);

}  // namespace ria::cli
