// SPDX-License-Identifier: MIT
// What a person looks at: tables and self-contained HTML pages.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ria/api.h"
#include "ria/dataset.h"
#include "ria/evaluate.h"
#include "ria/loop_run.h"
#include "ria/study.h"
#include "ria/train.h"

namespace ria {

/// What a report shows beside the figures.
struct ReportOptions {
  std::string title = "ria report";
  std::string command;  ///< the exact command line, shown on the page
  int rows = 12;        ///< queries shown with their answers; 0: none
  int top = 3;          ///< answers shown in a row
};

/// The comparison as a text table: one line a method.
RIA_API std::string comparison_table(const std::vector<Evaluation>& evaluations);

/// Throws std::runtime_error that says why a report could not be written there: to be known before
/// long work. Makes nothing.
RIA_API void check_report(const std::filesystem::path& folder_or_html);

/// Recalls with intervals, tests, curves, map, query/answer rows framed green or red, cost and
/// options of each method: one HTML page without outside references.
///
/// A path that ends in .html is that page. Any other is a folder, made if it is missing, that gets
/// index.html (the page), results.json, results.csv (one line a method) and table.tex (a booktabs
/// table). Each file is written whole or not at all. Throws std::invalid_argument for evaluations
/// of another dataset and std::runtime_error naming a file that cannot be written.
RIA_API void write_report(const std::filesystem::path& folder_or_html,
                          const Dataset& dataset,
                          const std::vector<Evaluation>& evaluations,
                          const ReportOptions& options = {});

/// Tables, plots and heat maps of a study, and the methods' comparison where it measured recall.
/// The folder, made if it is missing, gets index.html, results.json, results.csv (one line a field
/// of a table) and table.tex (all tables). The title and the command are the study's unless the
/// options give others.
RIA_API void write_study_report(const std::filesystem::path& folder,
                                const StudyResult& result,
                                const Dataset& dataset,
                                const ReportOptions& options = {});

/// A training run as far as it has come: curves of loss, recall and learning rates, a table of
/// epochs, the hardest pairs as pictures, options. One HTML page, written whole or not at all.
RIA_API void write_training_page(const std::filesystem::path& html_file,
                                 const TrainResult& result,
                                 const ReportOptions& options = {});

/// A drive: measures, precision over recall, reliability, the matrix of how alike its pictures are
/// with the loops, the way where it is known, pictures of loops and of the surest mistakes, time.
/// A path that ends in .html is the page; any other a folder that gets index.html and results.json.
/// `map` is the one the drive was added to.
RIA_API void write_loop_report(const std::filesystem::path& folder_or_html,
                               const LoopRun& run,
                               const Map& map,
                               const ReportOptions& options = {});

}  // namespace ria
