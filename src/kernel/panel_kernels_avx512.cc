// SPDX-License-Identifier: MIT
// 512-bit vectors and VNNI. The build gives this file its instruction set.
#define RIA_WIDTH 16
#define RIA_ROWS 8
#include "kernel/panel_kernels_impl.h"

namespace ria {

extern const PanelKernels kPanelKernelsAvx512;
const PanelKernels kPanelKernelsAvx512 = make_kernels("avx512");

}  // namespace ria
