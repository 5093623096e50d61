// SPDX-License-Identifier: MIT
// Dense multi-scale RootSIFT: the backbone that needs no weights.
#pragma once

#include <memory>

#include "ria/backbone.h"

namespace ria {

std::unique_ptr<Backbone> make_rootsift();

}  // namespace ria
