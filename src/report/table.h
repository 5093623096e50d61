// SPDX-License-Identifier: MIT
// The numbers that are compared between methods, for the text table and for the page.
#pragma once

#include <string>
#include <vector>

#include "ria/evaluate.h"

namespace ria {

/// One column of the comparison: a cell a method.
struct ComparisonColumn {
  std::string title;
  std::vector<std::string> cells;  ///< "-" where an evaluation has no such number
  std::vector<bool> best;          ///< all that show the best number; none if there is no contest
  std::vector<std::string> bounds = {};  ///< "79.1-87.2" beneath a cell; empty: none
};

/// dim, R@K for every K of any evaluation, ms/picture if it was measured: the text table.
std::vector<ComparisonColumn> comparison_columns(const std::vector<Evaluation>& evaluations);

/// R@K with intervals, average precision, recall at full precision: what a page shows first.
std::vector<ComparisonColumn> recall_columns(const std::vector<Evaluation>& evaluations);

/// dim, bytes, time per picture and query.
std::vector<ComparisonColumn> cost_columns(const std::vector<Evaluation>& evaluations);
/// The seconds of every stage that was measured.
std::vector<ComparisonColumn> stage_columns(const std::vector<Evaluation>& evaluations);

/// Every K of any evaluation, rising.
std::vector<int> recall_ks(const std::vector<Evaluation>& evaluations);

/// R@K alone, for a K.
ComparisonColumn recall_column(const std::vector<Evaluation>& evaluations, int k);

/// Stages that any evaluation measured, in the order they are run.
std::vector<std::string> measured_stages(const std::vector<Evaluation>& evaluations);

}  // namespace ria
