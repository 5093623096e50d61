// SPDX-License-Identifier: MIT
// The comparison in a sentence, in tables, and how sure it is.
#pragma once

#include <string>
#include <vector>

#include "report/view.h"

namespace ria {

/// The best method against one of the others: McNemar's exact test on R@1.
struct LeadTest {
  std::size_t other = 0;     ///< position of the method
  double points = 0;         ///< of recall that the best is ahead
  PairedTest test;           ///< the first is the best method
  bool significant = false;  ///< at 5 % for all tests together, after Holm
};
/// By falling R@1 of the other method.
std::vector<LeadTest> lead_tests(const ReportView& view);

/// "On X, M finds the right place first for 83.0% of 100 queries (R@1), 50.0 points ahead of N."
std::string lead_sentence(const ReportView& view);

std::string recall_table_html(const ReportView& view);
std::string lead_tests_html(const ReportView& view);
std::string cost_table_html(const std::vector<Evaluation>& evaluations);

}  // namespace ria
