// SPDX-License-Identifier: MIT
// Queries with what each method answered, as pictures.
#pragma once

#include <string>
#include <vector>

#include "report/view.h"
#include "ria/dataset.h"
#include "ria/evaluate.h"
#include "ria/report.h"

namespace ria {

/// The queries to show, rising: the same for every method, so that answers can be compared.
/// Evenly spaced among each method's wrong and right queries in turn, so that both are seen even if
/// one is rare; the rest evenly spaced among all.
std::vector<int> choose_queries(const Dataset& dataset,
                                const std::vector<Evaluation>& evaluations,
                                int count);

/// The section of the page: filter, then a card for each chosen query with a row for each method.
std::string answers_html(const Dataset& dataset,
                         const std::vector<Evaluation>& evaluations,
                         const ReportOptions& options);

/// The same for the leading methods alone, if there are many.
std::string leading_answers_html(const ReportView& view, const ReportOptions& options);

}  // namespace ria
