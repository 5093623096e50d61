// SPDX-License-Identifier: MIT
#pragma once

#include "train/torch/tensors.h"

namespace ria {

/// softmax(q k^T / sqrt(d)) v of count x tokens x 3 dim values (queries, keys, values, each head by
/// head): count x tokens x dim.
Tensor attention(const Tensor& qkv, int heads);

}  // namespace ria
