// SPDX-License-Identifier: MIT
#include "cli/dataset_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace ria::cli {

void DatasetFlags::add(CLI::App& command) {
  const std::string group = "Dataset";
  command.add_option("--split", options_.split, "test, val or train, where the set has them")
      ->type_name("NAME")
      ->group(group);
  command.add_option("--query_set", options_.query_set, "which queries, where there are several")
      ->type_name("NAME")
      ->group(group);
  command
      .add_option("--frame_tolerance",
                  options_.frame_tolerance,
                  "sequences: frames to either side that are right")
      ->group(group);
  command
      .add_option("--max_angle", options_.max_angle, "baidu_mall: degrees between right answers")
      ->group(group);
  command
      .add_option("--images_folder",
                  options_.images_folder,
                  "where listed pictures are, if not beside the lists")
      ->type_name("FOLDER")
      ->group(group);
}

void DatasetFlags::add_threshold(CLI::App& command, const std::string& text) {
  command.add_option("--positive_dist_threshold", options_.positive_dist_threshold, text);
}

void DatasetSource::add(CLI::App& command) {
  CLI::Option* dataset =
      command
          .add_option("--dataset", dataset_, "a name of 'ria datasets', or a file of ground truth")
          ->type_name("NAME|GT.json");
  command.add_option("--data_folder", data_folder_, "the named dataset's folder, or its parent")
      ->type_name("FOLDER")
      ->needs(dataset);
  command.add_option("--database_folder", database_folder_, "known places, @east@north@ names")
      ->type_name("FOLDER")
      ->excludes(dataset);
  command.add_option("--queries_folder", queries_folder_, "queries, @east@north@ names")
      ->type_name("FOLDER")
      ->excludes(dataset);
  flags_.add_threshold(
      command, "metres within which an answer is right; 0: 25, or as the dataset is published");
  flags_.add(command);
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
      "--dataset NAME --data_folder D, --dataset GT.json or --database_folder D "
      "--queries_folder Q was expected");
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

/// A file; a name was meant if there is none and it does not look like one.
Dataset DatasetSource::load_json() const {
  const std::filesystem::path file = dataset_;
  if (file.extension() != ".json" && !std::filesystem::exists(file)) {
    throw std::invalid_argument(
        fmt::format("--dataset {} needs --data_folder", find_dataset(dataset_).name));
  }
  if (flags_.options().positive_dist_threshold > 0) {
    throw std::invalid_argument(fmt::format(
        "--positive_dist_threshold has no meaning for {}, which lists its positives", dataset_));
  }
  return load_ground_truth(file);
}

void print_remarks(const Dataset& dataset) {
  for (const std::string& remark : dataset.remarks) fmt::print(stderr, "ria: note: {}\n", remark);
}

}  // namespace ria::cli
