// SPDX-License-Identifier: MIT
// 256-bit vectors and FMA. The build gives this file its instruction set.
#define RIA_WIDTH 8
#define RIA_ROWS 4
#include "kernel/panel_kernels_impl.h"

namespace ria {

extern const PanelKernels kPanelKernelsAvx2;
const PanelKernels kPanelKernelsAvx2 = make_kernels("avx2");

}  // namespace ria
