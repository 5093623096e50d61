// SPDX-License-Identifier: MIT
// Recall over K, precision over recall, and where an answer is to be trusted.
#pragma once

#include <string>

#include "report/view.h"

namespace ria {

std::string recall_curves_html(ReportView& view);

/// Empty if no evaluation has a curve.
std::string precision_recall_html(ReportView& view);

}  // namespace ria
