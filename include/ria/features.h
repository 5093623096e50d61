// SPDX-License-Identifier: MIT
// What travels between the stages.
#pragma once

#include <cstdint>
#include <vector>

#include "ria/matrix.h"

namespace ria {

/// One L2-normalised vector a picture is known by.
using Descriptor = Vector;

/// What a backbone says of a picture: one row a patch, in row-major grid order.
struct PatchFeatures {
  Matrix patches;       ///< N x D
  int grid_height = 0;  ///< N = grid_height * grid_width (rootsift: other scales follow)
  int grid_width = 0;
  Vector class_token;  ///< D values, or empty where the network has none
};

/// What a re-ranker keeps of a picture: unit vectors on a grid, one a row.
struct LocalFeatures {
  Matrix vectors;       ///< N x d, N = grid_height * grid_width
  int grid_height = 0;  ///< rows of the grid
  int grid_width = 0;   ///< columns of the grid
  /// The signs are all there is: every row is zero or has values of one magnitude, d is a multiple
  /// of 32.
  bool signs = false;
};

/// The same for keeping, row after row: 16 bits a value (half precision), or one bit (set: above
/// zero) where signs are all there is, no bit set for a row of zeros. The number of bytes tells.
struct PackedLocalFeatures {
  std::vector<std::uint8_t> bytes;
  int dim = 0;  ///< values of a row
  int grid_height = 0;
  int grid_width = 0;
};

}  // namespace ria
