// SPDX-License-Identifier: MIT
// What an evaluation found, as files to look at: the layout of VPR-methods-evaluation.
#pragma once

#include <filesystem>

#include "ria/api.h"
#include "ria/dataset.h"
#include "ria/evaluate.h"

namespace ria {

/// What save_predictions() writes.
struct RIA_API SavePredictionsOptions {
  int num_preds = 5;        ///< answers shown for each query, 1 to 100
  bool only_wrong = false;  ///< leave out the queries whose first answer is right
  bool labels = true;       ///< say which answers are right and list the positives
  RunOptions run;           ///< threads, progress (a step a query) and stop

  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// Writes two files for each query into a new folder `folder`/preds, whole or not at all; they
/// carry the query's position in the dataset in at least three digits. 000.txt holds the paths of
/// the query, its answers and its positives. 000.jpg shows the query and its answers in a row of
/// tiles of 512 pixels, those that are right in a green frame and the others in a red one. Returns
/// for how many queries. Throws std::invalid_argument if the evaluation is of another dataset, or
/// if labels are asked for and the dataset has none; std::runtime_error if the folder exists or
/// cannot be written; Interrupted.
RIA_API int save_predictions(const std::filesystem::path& folder,
                             const Dataset& dataset,
                             const Evaluation& evaluation,
                             const SavePredictionsOptions& options = {});

/// Writes database_descriptors.npy and queries_descriptors.npy into an existing folder: float32, a
/// row a picture in the dataset's order, zeros for one that could not be described. Throws
/// std::invalid_argument unless EvaluateOptions::keep_descriptors was set.
RIA_API void save_descriptors(const std::filesystem::path& folder, const Evaluation& evaluation);

}  // namespace ria
