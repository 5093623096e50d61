// SPDX-License-Identifier: MIT
// Figures for other programs: CSV (RFC 4180) and TeX (booktabs).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ria/evaluate.h"
#include "ria/study.h"

namespace ria {

/// A field of a CSV line, quoted if it has to be.
std::string csv_field(std::string_view text);
/// Text as TeX prints it; line ends become spaces.
std::string tex_text(std::string_view text);

/// A line of column names, then one a method: recalls, bounds, precision, size, seconds.
std::string to_csv(const std::vector<Evaluation>& evaluations);
/// R@1 and R@5 (the first two there are, if those were not measured), the best in bold.
std::string to_tex(const std::vector<Evaluation>& evaluations);

/// table,row,column,text,value,best: one line a field of every table.
std::string to_csv(const StudyResult& result);
std::string to_tex(const StudyTable& table);

}  // namespace ria
