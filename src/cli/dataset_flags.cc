// SPDX-License-Identifier: MIT
#include "cli/dataset_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace ria::cli {

void DatasetFlags::add(CLI::App& command, const std::string& prefix) {
  const std::string group =
      prefix.empty() ? "Dataset" : "Dataset, " + prefix.substr(0, prefix.size() - 1);
  const std::string dashes = "--" + prefix;
  command
      .add_option(dashes + "split", options_.split, "test, val or train, where the set has them")
      ->type_name("NAME")
      ->group(group);
  command
      .add_option(
          dashes + "query_set", options_.query_set, "which queries, where there are several")
      ->type_name("NAME")
      ->group(group);
  command
      .add_option(dashes + "frame_tolerance",
                  options_.frame_tolerance,
                  "sequences: frames to either side that are right")
      ->group(group);
  command
      .add_option(
          dashes + "max_angle", options_.max_angle, "baidu_mall: degrees between right answers")
      ->group(group);
  command
      .add_option(dashes + "images_folder",
                  options_.images_folder,
                  "where listed pictures are, if not beside the lists")
      ->type_name("FOLDER")
      ->group(group);
}

void DatasetFlags::add_threshold(CLI::App& command,
                                 const std::string& text,
                                 const std::string& prefix) {
  command.add_option(
      "--" + prefix + "positive_dist_threshold", options_.positive_dist_threshold, text);
}

void DatasetSource::add(CLI::App& command, const std::string& prefix) {
  prefix_ = prefix;
  const std::string dashes = "--" + prefix;
  CLI::Option* dataset =
      command
          .add_option(
              dashes + "dataset", dataset_, "a name of 'ria datasets', or a file of ground truth")
          ->type_name("NAME|GT.json");
  command
      .add_option(dashes + "data_folder", data_folder_, "the named dataset's folder, or its parent")
      ->type_name("FOLDER")
      ->needs(dataset);
  command
      .add_option(dashes + "database_folder", database_folder_, "known places, @east@north@ names")
      ->type_name("FOLDER")
      ->excludes(dataset);
  command.add_option(dashes + "queries_folder", queries_folder_, "queries, @east@north@ names")
      ->type_name("FOLDER")
      ->excludes(dataset);
  flags_.add_threshold(
      command,
      "metres within which an answer is right; 0: 25, or as the dataset is published",
      prefix);
  flags_.add(command, prefix);
}

void DatasetSource::add_no_labels(CLI::App& command) {
  command.add_flag("--no_labels",
                   no_labels_,
                   "the right answers are not known: folders of any names, no recall");
}

Dataset DatasetSource::load() const {
  if (labelled()) return load_labelled();
  if (dataset_.empty()) {
    require_folders();
    return load_unlabelled(database_folder_, queries_folder_);
  }
  Dataset dataset = load_labelled();
  dataset.positives.clear();
  return dataset;
}

void DatasetSource::require_folders() const {
  if (!database_folder_.empty() && !queries_folder_.empty()) return;
  throw std::invalid_argument(
      fmt::format("--{0}dataset NAME --{0}data_folder D, --{0}dataset GT.json or "
                  "--{0}database_folder D --{0}queries_folder Q was expected",
                  prefix_));
}

Dataset DatasetSource::load_labelled() const {
  const DatasetOptions& given = flags_.options();
  given.validate();
  if (!dataset_.empty() && data_folder_.empty()) return load_json();
  if (!dataset_.empty()) return load_dataset(dataset_, data_folder_, given);
  require_folders();
  const double radius = given.positive_dist_threshold;
  return load_at_named(database_folder_, queries_folder_, radius > 0 ? radius : 25);
}

Dataset DatasetSource::load_json() const {
  if (flags_.options().positive_dist_threshold > 0) {
    throw std::invalid_argument(
        fmt::format("--{}positive_dist_threshold has no meaning for {}, which lists its positives",
                    prefix_,
                    dataset_));
  }
  return load_json_dataset(dataset_, "--" + prefix_ + "dataset", "--" + prefix_ + "data_folder");
}

Dataset load_json_dataset(const std::string& file_or_name,
                          const std::string& flag,
                          const std::string& folder_flag) {
  const std::filesystem::path file = file_or_name;
  if (file.extension() != ".json" && !std::filesystem::exists(file)) {
    throw std::invalid_argument(
        fmt::format("{} {} needs {}", flag, find_dataset(file_or_name).name, folder_flag));
  }
  return load_ground_truth(file);
}

void print_remarks(const std::vector<std::string>& remarks) {
  for (const std::string& remark : remarks) fmt::print(stderr, "ria: note: {}\n", remark);
}

void print_remarks(const Dataset& dataset) { print_remarks(dataset.remarks); }

}  // namespace ria::cli
