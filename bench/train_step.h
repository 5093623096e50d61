// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

namespace ria::bench {

/// 16 places x 4 pictures of 224 x 224 through a ViT-S/14 of random weights whose last 4 blocks are
/// trained: the frozen part by the native engine, a picture a core, the rest and the step by
/// LibTorch.
void train_step(int rounds, const std::function<void(const std::string&, double)>& put);

}  // namespace ria::bench
