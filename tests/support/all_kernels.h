// SPDX-License-Identifier: MIT
// Every set of inner loops that this CPU runs, and the loops at the width of 512-bit vectors.
#pragma once

#include <vector>

#include "kernel/panel_kernels.h"

namespace ria {

extern const PanelKernels kWidePanelKernels;  // kernel/wide_panel_kernels.cc

inline std::vector<const PanelKernels*> all_kernels() {
  std::vector<const PanelKernels*> kernels = panel_kernels();
  kernels.push_back(&kWidePanelKernels);
  return kernels;
}

}  // namespace ria
