// SPDX-License-Identifier: MIT
#include "kernel/scan_kernels.h"

namespace ria {

extern const ScanKernels kScanKernelsAvx512;
extern const ScanKernels kScanKernelsAvx2;
extern const ScanKernels kScanKernelsGeneric;

const std::vector<const ScanKernels*>& scan_kernels() {
  static const std::vector<const ScanKernels*> runnable = [] {
    std::vector<const ScanKernels*> list;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vnni")) {
      list.push_back(&kScanKernelsAvx512);
    }
    // Every CPU with AVX2 converts halves, and not every compiler can ask for that by its own name.
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
      list.push_back(&kScanKernelsAvx2);
    }
    list.push_back(&kScanKernelsGeneric);
    return list;
  }();
  return runnable;
}

}  // namespace ria
