// SPDX-License-Identifier: MIT
// What the sections of a page know about the methods compared.
#pragma once

#include <string>
#include <vector>

#include "report/palette.h"
#include "ria/dataset.h"
#include "ria/evaluate.h"

namespace ria {

struct ReportView {
  /// Throws std::invalid_argument unless the evaluations are of this dataset. Keeps references.
  ReportView(const Dataset& dataset, const std::vector<Evaluation>& evaluations);

  /// Positions of at most `count` methods of the highest R@1, in the order they were given.
  std::vector<std::size_t> leading(std::size_t count) const;

  const Dataset& dataset;
  const std::vector<Evaluation>& evaluations;
  std::vector<std::vector<char>> hits;  ///< per method and query: is the first answer right?
  std::vector<double> recall1;          ///< percent, of `hits`
  std::vector<std::size_t> order;       ///< methods by falling R@1; the first given leads a tie
  SeriesStyles styles;                  ///< every method has one already
};

/// Is this database picture a right answer?
bool is_positive(const Dataset& dataset, int query, int place);

/// A note that not all methods are drawn; empty if they are.
std::string left_out_html(std::size_t drawn, std::size_t of);

/// A re-ranker's scores are its own, no cosines.
bool is_reranked(const Evaluation& evaluation);

}  // namespace ria
