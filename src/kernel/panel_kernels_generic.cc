// SPDX-License-Identifier: MIT
// Any CPU; the compiler splits the vectors. The build gives this file its instruction set.
#define RIA_WIDTH 8
#define RIA_ROWS 4
#include "kernel/panel_kernels_impl.h"

namespace ria {

extern const PanelKernels kPanelKernelsGeneric;
const PanelKernels kPanelKernelsGeneric = make_kernels("generic");

}  // namespace ria
