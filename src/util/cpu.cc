// SPDX-License-Identifier: MIT
#include "util/cpu.h"

#include <unistd.h>

#include <algorithm>

namespace ria {

bool cpu_has_bf16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

int core_cache_bytes() {
  constexpr long kUsual = 512 << 10, kSmallest = 256 << 10, kLargest = 2 << 20;
  const long told = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  // A virtual machine may tell of a cache that its cores share.
  return static_cast<int>(told > 0 ? std::clamp(told, kSmallest, kLargest) : kUsual);
}

}  // namespace ria
