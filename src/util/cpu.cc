// SPDX-License-Identifier: MIT
#include "util/cpu.h"

namespace ria {

bool cpu_has_bf16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

}  // namespace ria
