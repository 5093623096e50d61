// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

namespace ria::bench {

/// Every 3x3 convolution of stride 1 of ResNets and VGG16, by oneDNN and by Winograd's algorithm: a
/// table on the standard output, with what the rule that chooses between them expects and takes.
/// Figures are told to `put`.
void winograd_table(int rounds, const std::function<void(const std::string&, double)>& put);

}  // namespace ria::bench
