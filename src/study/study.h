// SPDX-License-Identifier: MIT
// What the studies share.
#pragma once

#include <string>
#include <vector>

#include "ria/study.h"

namespace ria {

/// A number the paper prints for a row of a table.
struct PaperValue {
  const char* dataset;  ///< of the paper: "Pitts30k"
  double recall1;       ///< R@1 in percent
};

/// A row of a table of recalls: a name and the method, as choose_method() reads it; {} stands for
/// the backbone.
struct RecallRow {
  std::string name;
  std::string method;
  std::vector<PaperValue> paper = {};
};

/// A study that measures recalls of rows.
struct RecallStudy {
  StudyInfo info;
  std::vector<RecallRow> rows;
  std::vector<std::string> notes = {};
};
const std::vector<RecallStudy>& recall_studies();

/// Evaluates methods on a dataset, keeping what is finished in options.folder; those whose weights
/// are missing are named in `notes`, and stay without an evaluation (queries 0).
std::vector<Evaluation> evaluate_cells(const std::vector<std::string>& methods,
                                       const Dataset& dataset,
                                       const StudyOptions& options,
                                       std::vector<std::string>& notes);

/// Marks the largest (or smallest) value of a column.
void mark_best(StudyTable& table, std::size_t column, bool largest = true);

/// At most `count` of the pictures of a dataset, database first, evenly spread.
std::vector<std::filesystem::path> some_pictures(const Dataset& dataset, int count);

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
