// SPDX-License-Identifier: MIT
// The two kinds of trunk: what make_train_network() fills in of each.
#pragma once

#include "train/network.h"

namespace ria {

/// Shape, tensors, trained names, frozen part, settings' backbone and source of a transformer.
void add_vit_trunk(const BackboneWeights& weights,
                   const TrainOptions& options,
                   bool from_pixels,
                   TrainNetwork& network);
/// The same of a ResNet or a VGG.
void add_conv_trunk(const BackboneWeights& weights,
                    const TrainOptions& options,
                    bool from_pixels,
                    TrainNetwork& network);

/// The source's tensors under the names of a RIA-FT file, those of a convolution that is among
/// `tensors` replaced by it and a batch norm that does nothing.
TensorMap conv_file_tensors(const TrainNetwork& network, const std::vector<NamedTensor>& tensors);

/// "unfreeze is N, 0 to M was expected"
void check_unfreeze(const TrainOptions& options, int most, const std::string& what);

}  // namespace ria
