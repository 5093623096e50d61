// SPDX-License-Identifier: MIT
// 256-bit vectors, FMA and half precision.
#define RIA_WIDTH 8
#include "kernel/scan_kernels_impl.h"

namespace ria {

extern const ScanKernels kScanKernelsAvx2;
const ScanKernels kScanKernelsAvx2 = make_scan_kernels("avx2");

}  // namespace ria
