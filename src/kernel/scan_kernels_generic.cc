// SPDX-License-Identifier: MIT
// 128-bit vectors, which every CPU has.
#define RIA_WIDTH 4
#include "kernel/scan_kernels_impl.h"

namespace ria {

extern const ScanKernels kScanKernelsGeneric;
const ScanKernels kScanKernelsGeneric = make_scan_kernels("generic");

}  // namespace ria
