// SPDX-License-Identifier: MIT
#include "report/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "report/markup.h"
#include "report/page.h"
#include "report/table.h"

namespace ria {

namespace {

constexpr double kLevel = 0.05;

std::string p_text(double p) { return p < 0.001 ? "p &lt; 0.001" : fmt::format("p = {:.3f}", p); }

std::string columns_html(const std::vector<Evaluation>& evaluations,
                         const std::vector<ComparisonColumn>& columns) {
  PageTable table;
  table.head = {"method"};
  for (const ComparisonColumn& column : columns) table.head.push_back(column.title);
  for (std::size_t i = 0; i < evaluations.size(); ++i) {
    PageTable::Row row{name_html(evaluations[i].method), {}};
    for (const ComparisonColumn& column : columns) {
      std::string cell = column.cells[i];
      if (!column.bounds.empty() && !column.bounds[i].empty()) {
        cell += fmt::format("<small>{}</small>", column.bounds[i]);
      }
      row.cells.push_back({std::move(cell), column.best[i]});
    }
    table.rows.push_back(std::move(row));
  }
  return table_html(table);
}

std::string verdict(const LeadTest& one) {
  if (one.points == 0 && one.test.only_first == one.test.only_second) return "level";
  return one.significant ? "significant" : "may be chance";
}

}  // namespace

std::vector<LeadTest> lead_tests(const ReportView& view) {
  std::vector<LeadTest> tests;
  const std::size_t best = view.order[0];
  for (std::size_t rank = 1; rank < view.order.size(); ++rank) {
    const std::size_t other = view.order[rank];
    tests.push_back({other,
                     view.recall1[best] - view.recall1[other],
                     paired_test(view.hits[best], view.hits[other]),
                     false});
  }
  // Holm: the smallest p value has to stand against all tests, the next against one less, ...
  std::vector<std::size_t> by_p(tests.size());
  std::iota(by_p.begin(), by_p.end(), 0);
  std::stable_sort(by_p.begin(), by_p.end(), [&](std::size_t a, std::size_t b) {
    return tests[a].test.p_value < tests[b].test.p_value;
  });
  for (std::size_t i = 0; i < by_p.size(); ++i) {
    LeadTest& one = tests[by_p[i]];
    if (!one.test.significant(kLevel / static_cast<double>(by_p.size() - i))) break;
    one.significant = true;
  }
  return tests;
}

std::string lead_sentence(const ReportView& view) {
  const auto name = [&](std::size_t method) {
    return fmt::format("<b>{}</b>", name_html(view.evaluations[method].method));
  };
  std::string text =
      fmt::format("On {}, {} finds the right place first for {}% of {} queries (R@1)",
                  escape_markup(view.dataset.name),
                  name(view.order[0]),
                  percent_text(view.recall1[view.order[0]]),
                  view.dataset.queries.size());
  if (view.order.size() == 1) return text + ".";
  const LeadTest second = lead_tests(view).front();
  if (second.points < 0.05) return text + fmt::format(", level with {}.", name(second.other));
  return text + fmt::format(", {} points ahead of {}{}.",
                            percent_text(second.points),
                            name(second.other),
                            second.significant ? ", a significant lead"
                                               : ", which may be chance: not significant");
}

std::string recall_table_html(const ReportView& view) {
  std::string out = columns_html(view.evaluations, recall_columns(view.evaluations));
  const auto has_interval = [](const Evaluation& one) { return !one.interval.empty(); };
  const bool intervals =
      std::any_of(view.evaluations.begin(), view.evaluations.end(), has_interval);
  return out +
         fmt::format(
             "<p class=\"note\">All in percent. R@K: right place among the first K answers{}. "
             "AP: average precision of the best answers. R@100P: recall that is reached "
             "without a wrong answer.</p>\n",
             intervals ? ", with its 95 % interval (bootstrap over queries)" : "");
}

std::string lead_tests_html(const ReportView& view) {
  const std::vector<LeadTest> tests = lead_tests(view);
  if (tests.empty()) return "";
  const std::string best = name_html(view.evaluations[view.order[0]].method);
  PageTable table;
  table.head = {"against", "ahead by", "McNemar", "lead", "only best right", "only other right"};
  for (const LeadTest& one : tests) {
    table.rows.push_back({name_html(view.evaluations[one.other].method),
                          {{fmt::format("{:.1f}", one.points)},
                           {p_text(one.test.p_value)},
                           {verdict(one), false, true},
                           {std::to_string(one.test.only_first)},
                           {std::to_string(one.test.only_second)}}});
  }
  std::string out = fmt::format("<section>\n<h2>Is the lead of {} real?</h2>\n", best);
  out += table_html(table);
  return out +
         fmt::format(
             "<p class=\"note\">Queries that only one of the two methods answers right first, and "
             "how likely such a split is by chance if both were equally good (McNemar's exact "
             "test). Judged at the 5 % level{}.</p>\n</section>\n",
             tests.size() > 1 ? fmt::format(" for all {} tests together (Holm)", tests.size())
                              : "");
}

std::string cost_table_html(const std::vector<Evaluation>& evaluations) {
  std::string out = "<section>\n<h2>Cost</h2>\n" +
                    columns_html(evaluations, cost_columns(evaluations)) +
                    "<p class=\"note\">Bytes: of one stored descriptor. ms/picture: decoding, "
                    "network and head on one core.</p>\n";
  const std::vector<ComparisonColumn> stages = stage_columns(evaluations);
  if (!stages.empty()) {
    out += "<details class=\"card\"><summary>Seconds of every stage</summary>\n" +
           columns_html(evaluations, stages) +
           "</details>\n<p class=\"note\">Stages are added up over all threads and counted for "
           "every method that needs them; wall is the clock of the whole run.</p>\n";
  }
  return out + "</section>\n";
}

}  // namespace ria
