// SPDX-License-Identifier: MIT
// The loops at the width and tile of 512-bit vectors, compiled for any CPU: what a machine without
// such vectors can check of them.
#define RIA_WIDTH 16
#define RIA_ROWS 8
#include "kernel/panel_kernels_impl.h"

namespace ria {

extern const PanelKernels kWidePanelKernels;
const PanelKernels kWidePanelKernels = make_kernels("wide");

}  // namespace ria
