// SPDX-License-Identifier: MIT
// SelaVPR's second stage: local features by two up-convolutions, compared by mutual neighbours.
#pragma once

#include <memory>

#include "ria/rerank.h"
#include "tensor/tensor.h"

namespace ria {

/// Finds LocalAdapt.upconv1 and upconv2 in the checkpoint, behind any prefix, and takes every size
/// from their shapes. A grid of n x m patches becomes one of (4n - 3) x (4m - 3) unit vectors; the
/// score of two pictures is the number of vectors that are mutually nearest. Throws
/// std::runtime_error naming what is missing or of another shape.
std::unique_ptr<Reranker> read_selavpr_reranker(const TensorFile& file);

}  // namespace ria
