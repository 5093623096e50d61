// SPDX-License-Identifier: MIT
// What a person looks at: tables and one self-contained HTML page.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ria/dataset.h"
#include "ria/evaluate.h"

namespace ria {

struct ReportOptions {
  std::string title = "ria report";
  std::string command;  ///< the exact command line, shown on the page
  int rows = 12;        ///< query rows shown for each method
  int top = 3;          ///< answers shown in a row
};

/// The comparison as a text table: one line a method.
std::string comparison_table(const std::vector<Evaluation>& evaluations);

/// Recall curves, table and query/answer rows framed green or red, in one HTML file without outside
/// references. Written whole or not at all.
void write_report(const std::filesystem::path& html_file,
                  const Dataset& dataset,
                  const std::vector<Evaluation>& evaluations,
                  const ReportOptions& options = {});

}  // namespace ria
