// SPDX-License-Identifier: MIT
// A dataset while it is read: what the readers of the different forms share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ria/dataset.h"

namespace ria {

using Position = std::array<double, 2>;
using Positions = std::vector<std::optional<Position>>;

struct Loading {
  const DatasetInfo& info;
  std::filesystem::path folder;  ///< the set's own
  DatasetOptions options;        ///< split and query_set filled in
  Dataset dataset = {};          ///< what the reader fills

  std::vector<std::string> problems = {};
  std::vector<std::string> notes = {};  ///< odd, but so in the published files
  std::vector<std::filesystem::path> missing_pictures = {};

  bool used_radius = false;
  bool used_tolerance = false;
  bool used_angle = false;

  /// What the options say or, without, what is published. They mark the option as used.
  double radius(double published);
  std::optional<int> tolerance();
  double angle();

  /// `text` with {split} and {query_set} filled in; an underscore before an empty one goes too.
  std::string fill(std::string text) const;
};

/// One way a dataset is laid out on disk.
struct Form {
  std::string layout;  ///< for people
  /// Files and folders, relative to the set's folder, without which it is not this form; empty if
  /// all are there.
  std::function<std::vector<std::string>(const Loading&)> missing;
  std::function<void(Loading&)> load;
};

struct DatasetEntry {
  DatasetInfo info;
  std::vector<Form> forms;  ///< the first that is complete is read
};

const std::vector<DatasetEntry>& dataset_entries();
const DatasetEntry& find_entry(const std::string& name);

/// Where an entry was looked for and what lacks there; `form` is nullptr if something does.
struct FoundForm {
  std::filesystem::path folder;
  const Form* form = nullptr;
  std::vector<std::string> missing;
};

FoundForm find_form(const DatasetEntry& entry,
                    const std::filesystem::path& data_folder,
                    const DatasetOptions& options);

/// Reads the form that was found.
Loading load_form(const DatasetEntry& entry, const FoundForm& found, const DatasetOptions& options);

/// The options with split and query_set filled in; throws std::invalid_argument.
DatasetOptions settle_options(const DatasetInfo& info, DatasetOptions options);

}  // namespace ria
