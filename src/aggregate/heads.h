// SPDX-License-Identifier: MIT
// Heads that are published with their weights. Each finds its tensors in the checkpoint, behind any
// prefix and beside the backbone's, takes every size from their shapes, and refuses a file that
// does not hold it by name: std::runtime_error.
#pragma once

#include <memory>

#include "ria/aggregator.h"
#include "weights/tensor.h"

namespace ria {

/// CosPlace and EigenPlaces: L2, GeM with a learnt exponent, linear layer, L2.
std::unique_ptr<Aggregator> read_cosplace(const TensorFile& file);

/// NetVLAD: the official .mat (with or without whitening), pytorch-NetVlad, Patch-NetVLAD and the
/// deep visual geo-localization benchmark. `whiten`: apply the file's whitening if it has one.
std::unique_ptr<Aggregator> read_netvlad(const TensorFile& file, bool whiten = true);

std::unique_ptr<Aggregator> read_mixvpr(const TensorFile& file);

/// Reads PatchFeatures::class_token beside the patches.
std::unique_ptr<Aggregator> read_salad(const TensorFile& file);

/// The global descriptor of SelaVPR: L2, GeM with a learnt exponent, L2.
std::unique_ptr<Aggregator> read_selavpr(const TensorFile& file);

/// RIA-FT: several heads, each a learnt projection, RIA's covariance and root, and an MLP.
std::unique_ptr<Aggregator> read_ria_ft(const TensorFile& file);

}  // namespace ria
