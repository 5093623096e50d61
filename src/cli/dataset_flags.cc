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

void print_remarks(const Dataset& dataset) {
  for (const std::string& remark : dataset.remarks) fmt::print(stderr, "ria: note: {}\n", remark);
}

}  // namespace ria::cli
