// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>

#include "train/torch/workers.h"

namespace ria {

/// Only exceptions of the standard library leave the plugin, each with one line.
template <typename Do>
auto guarded(Do run) -> decltype(run()) {
  try {
    return run();
  } catch (const c10::Error& problem) {
    throw std::runtime_error("LibTorch: " + one_line(problem));
  }
}

}  // namespace ria
