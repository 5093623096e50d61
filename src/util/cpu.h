// SPDX-License-Identifier: MIT
// What this CPU can do.
#pragma once

namespace ria {

/// Whether it multiplies bfloat16 numbers itself (AVX512_BF16).
bool cpu_has_bf16();

/// Bytes of the cache that a core has to itself (L2), or a usual size where the system does not
/// say.
int core_cache_bytes();

}  // namespace ria
