// SPDX-License-Identifier: MIT
// The convolutions of a VGG, told from the numbers in its tensor names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace ria {

/// "conv5_3" has block 5 and place 3.
struct VggConvolution {
  int module = 0;  ///< torchvision's number
  int block = 1;
  int place = 1;
  bool batch_norm = false;  ///< module + 1 is one
};

/// torchvision name ("features.28.weight") -> name in the file, for a VGG stored under the names of
/// torchvision, CosPlace or NetVLAD behind any known prefix; empty if the file holds none.
std::map<std::string, std::string> canonical_vgg_names(const TensorFile& file);

/// In the order they run; empty if the file holds no VGG. The last pool has no tensors, so a file
/// cannot say whether it belongs to the network.
std::vector<VggConvolution> vgg_convolutions(const TensorFile& file);

/// "vgg11", "vgg13", "vgg16", "vgg19" by the convolutions of each block (whatever the width), "vgg"
/// for other counts, "" without convolutions.
std::string vgg_name(const std::vector<VggConvolution>& convolutions);

}  // namespace ria
