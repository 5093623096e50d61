// SPDX-License-Identifier: MIT
// Which places each query was answered with: queries down, places across.
#pragma once

#include <string>

#include "report/view.h"

namespace ria {

/// The kept predictions' scores as shades, positives marked, at most 128 x 128 cells.
std::string score_matrix_svg(const Dataset& dataset, const Evaluation& evaluation);

/// The section: one matrix for each leading method. Empty without queries or places.
std::string score_matrices_html(const ReportView& view);

}  // namespace ria
