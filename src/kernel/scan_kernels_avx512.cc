// SPDX-License-Identifier: MIT
// 512-bit vectors and VNNI.
#define RIA_WIDTH 16
#include "kernel/scan_kernels_impl.h"

namespace ria {

extern const ScanKernels kScanKernelsAvx512;
const ScanKernels kScanKernelsAvx512 = make_scan_kernels("avx512");

}  // namespace ria
