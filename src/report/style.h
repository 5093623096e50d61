// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace ria {

/// The report page's stylesheet, without the charts' (chart_style()).
std::string_view page_style();

}  // namespace ria
