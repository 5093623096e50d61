// SPDX-License-Identifier: MIT
// What the studies share.
#pragma once

#include <string>
#include <vector>

#include "ria/study.h"
#include "study/paper.h"

namespace ria {

/// A row of a table of recalls: a name and the method, as choose_method() reads it; {} stands for
/// the backbone, OTHER for a folder of other pictures, RUNS for the folder of trained models.
struct RecallRow {
  std::string name;
  std::string method;
};

/// A study that measures recalls of rows.
struct RecallStudy {
  StudyInfo info;
  std::vector<RecallRow> rows;
  const PaperTable* paper = nullptr;  ///< what the paper has for rows of these names
  std::vector<std::string> notes = {};
  bool costs = false;  ///< columns for what is kept of a place, and the head's and a query's times
};
const std::vector<RecallStudy>& recall_studies();

/// Evaluates methods on a dataset, keeping what is finished in options.folder; those whose weights
/// are missing are named in `notes`, and stay without an evaluation (queries 0).
std::vector<Evaluation> evaluate_cells(const std::vector<std::string>& methods,
                                       const Dataset& dataset,
                                       const StudyOptions& options,
                                       std::vector<std::string>& notes);

/// What keeps a method from running here: its weights are missing. Empty: nothing.
std::string missing_weights(const std::string& method, const StudyOptions& options);

/// Marks the largest (or smallest) value of a column.
void mark_best(StudyTable& table, std::size_t column, bool largest = true);

/// At most `count` of the pictures of a dataset, database first, evenly spread.
std::vector<std::filesystem::path> some_pictures(const Dataset& dataset, int count);

/// A number with its text.
StudyField number_field(double value, const char* format = "{:.1f}");

StudyResult run_recall_study(const RecallStudy& study,
                             const Dataset& dataset,
                             const StudyOptions& options);

/// The studies that are no table of recalls.
StudyResult study_drift(const Dataset& dataset, const StudyOptions& options);
StudyResult study_homography(const Dataset& dataset, const StudyOptions& options);
StudyResult study_ns_error(const Dataset& dataset, const StudyOptions& options);
StudyResult study_tau_eps(const Dataset& dataset, const StudyOptions& options);
StudyResult study_seeds(const Dataset& dataset, const StudyOptions& options);
StudyResult study_dimension(const Dataset& dataset, const StudyOptions& options);

}  // namespace ria
