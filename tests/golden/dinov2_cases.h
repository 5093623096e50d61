// SPDX-License-Identifier: MIT
// The golden cases of DINOv2: any number of folders have their form.
#pragma once

#include <map>

#include "golden/golden_case.h"
#include "ria/backbone.h"

namespace ria {

inline std::vector<GoldenCase> dinov2_cases() {
  return cases_where([](const nlohmann::json& info) {
    return info.contains("config") && info.at("config").contains("ffn_layer");
  });
}

/// How the case's own code brings the table of positions to another grid.
inline PositionRule position_rule(const GoldenCase& golden) {
  if (golden.config().value("interpolate_antialias", false)) return PositionRule::kReg;
  const bool offset = golden.config().value("interpolate_offset", 0.1) != 0;
  return offset ? PositionRule::kHub : PositionRule::kHf;
}

inline Facet facet_of(const std::string& name) {
  return std::map<std::string, Facet>{{"query", Facet::kQuery},
                                      {"key", Facet::kKey},
                                      {"value", Facet::kValue},
                                      {"token", Facet::kToken}}
      .at(name);
}

}  // namespace ria
