// SPDX-License-Identifier: MIT
// The matrices that travel between the stages.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

namespace ria {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MatrixD = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXf;
using VectorD = Eigen::VectorXd;

/// One L2-normalised vector a picture is known by.
using Descriptor = Vector;

/// What a backbone says of a picture: one row a patch, in row-major grid order.
struct PatchFeatures {
  Matrix patches;       ///< N x D
  int grid_height = 0;  ///< N = grid_height * grid_width (times the scales, for rootsift)
  int grid_width = 0;
  Vector class_token;  ///< D values, or empty where the network has none
};

}  // namespace ria
