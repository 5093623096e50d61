// SPDX-License-Identifier: MIT
// AnyLoc's pooling, which keeps signs.
#pragma once

#include <cmath>

#include "ria/aggregator.h"

namespace ria {

/// Even powers have no signs to keep: then it is the pooling of absolute values.
inline GemOptions anyloc_gem(double p) {
  GemOptions options;
  options.p = p;
  options.sign = std::fmod(p, 2) == 0 ? GemSign::kAbsolute : GemSign::kPreserve;
  return options;
}

}  // namespace ria
