// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "ria/study.h"

namespace ria {

/// The map on a card: a cell for each value, which is printed in it, and the colour scale.
std::string heat_map_html(const StudyHeatMap& map);

}  // namespace ria
