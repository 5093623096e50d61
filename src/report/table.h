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
};

/// dim, R@K for every K of any evaluation, ms/picture on the clock if it was measured.
std::vector<ComparisonColumn> comparison_columns(const std::vector<Evaluation>& evaluations);

}  // namespace ria
