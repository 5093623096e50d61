// SPDX-License-Identifier: MIT
// What this CPU can do.
#pragma once

namespace ria {

/// Whether it multiplies bfloat16 numbers itself (AVX512_BF16).
bool cpu_has_bf16();

}  // namespace ria
