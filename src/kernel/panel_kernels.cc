// SPDX-License-Identifier: MIT
#include "kernel/panel_kernels.h"

namespace ria {

extern const PanelKernels kPanelKernelsAvx512;
extern const PanelKernels kPanelKernelsAvx2;
extern const PanelKernels kPanelKernelsGeneric;

const std::vector<const PanelKernels*>& panel_kernels() {
  static const std::vector<const PanelKernels*> runnable = [] {
    std::vector<const PanelKernels*> list;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vnni")) {
      list.push_back(&kPanelKernelsAvx512);
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
      list.push_back(&kPanelKernelsAvx2);
    }
    list.push_back(&kPanelKernelsGeneric);
    return list;
  }();
  return runnable;
}

}  // namespace ria
