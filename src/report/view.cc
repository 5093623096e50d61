// SPDX-License-Identifier: MIT
#include "report/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "evaluate/predictions.h"

namespace ria {

namespace {

void check(const Dataset& dataset, const std::vector<Evaluation>& evaluations) {
  if (evaluations.empty()) throw std::invalid_argument("a report needs at least one evaluation");
  check_labels(dataset);
  for (const Evaluation& one : evaluations) check_predictions(dataset, one);
}

}  // namespace

ReportView::ReportView(const Dataset& of, const std::vector<Evaluation>& all)
    : dataset(of), evaluations(all) {
  check(dataset, evaluations);
  for (const Evaluation& one : evaluations) {
    hits.push_back(hits_at(one.predictions, dataset.positives, 1));
    const auto right = std::count(hits.back().begin(), hits.back().end(), 1);
    const auto queries = static_cast<double>(std::max<std::size_t>(1, hits.back().size()));
    recall1.push_back(100.0 * static_cast<double>(right) / queries);
    styles.of(one.method);
  }
  order.resize(evaluations.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return recall1[a] > recall1[b];
  });
}

std::vector<std::size_t> ReportView::leading(std::size_t count) const {
  std::vector<std::size_t> chosen(order.begin(), order.begin() + std::min(count, order.size()));
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

bool is_positive(const Dataset& dataset, int query, int place) {
  const std::vector<int>& positives = dataset.positives[query];
  return std::binary_search(positives.begin(), positives.end(), place);
}

std::string left_out_html(std::size_t drawn, std::size_t of) {
  if (drawn >= of) return "";
  return fmt::format(
      "<p class=\"note\">Drawn for the {} of {} methods with the highest R@1.</p>\n", drawn, of);
}

bool is_reranked(const Evaluation& evaluation) { return evaluation.seconds.count("local") > 0; }

}  // namespace ria
