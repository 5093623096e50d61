// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "ria/aggregator.h"
#include "ria/backbone.h"
#include "tensor/tensor.h"

namespace ria {

/// What a RIA-FT file says of itself beside its tensors.
struct RiaFtSettings {
  RiaOptions ria;            ///< tau, eps, iterations, normalize_patches
  BackboneOptions backbone;  ///< cut, or layer, facet and final_norm
  int image_size = 0;        ///< pixels of both sides; 0: the backbone's default
};

/// Whether the file says it is one, of whatever version.
bool is_ria_ft(const TensorFile& file);

/// Throws std::runtime_error for another format or version and for values that are missing, damaged
/// or out of range.
RiaFtSettings read_ria_ft_settings(const TensorFile& file);

/// The metadata of settings, for a writer. Throws std::invalid_argument without cut or layer and
/// facet.
Metadata ria_ft_metadata(const RiaFtSettings& settings);

}  // namespace ria
