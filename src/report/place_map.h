// SPDX-License-Identifier: MIT
// Queries and their best answers where they were taken.
#pragma once

#include <string>

#include "report/view.h"

namespace ria {

/// The section: one map for each leading method. Empty if positions are unknown.
std::string place_maps_html(const ReportView& view);

}  // namespace ria
