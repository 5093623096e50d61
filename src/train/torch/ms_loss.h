// SPDX-License-Identifier: MIT
// Multi-similarity loss and miner (Wang et al. 2019).
#pragma once

#include "train/torch/tensors.h"

namespace ria {

struct MinedLoss {
  Tensor loss;      ///< a scalar
  Tensor positive;  ///< n x n: (anchor, other) is a mined positive pair
  Tensor negative;
};

/// Of descriptors [n, dim], which are brought to length one, and labels [n]: the mean over all
/// anchors i of log(1 + sum_p exp(-alpha (s_ip - base))) / alpha + log(1 + sum_n exp(beta (s_in -
/// base))) / beta. A positive p is mined if s_ip - miner_eps < max_n s_in, a negative n if s_in +
/// miner_eps > min_p s_ip.
MinedLoss multi_similarity(const Tensor& descriptors,
                           const Tensor& labels,
                           const EngineOptions& options);

}  // namespace ria
