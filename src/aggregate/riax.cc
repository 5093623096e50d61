// SPDX-License-Identifier: MIT
// RIA beyond the paper: four windows down the picture, a covariance each of what the network's next
// layer reads there, their centred logarithms one behind the other.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "aggregate/features.h"
#include "ria/aggregator.h"
#include "ria/eigen.h"

namespace ria {

namespace {

// Four windows, because T(d) = d(d+1)/2 is 3 T(d/2) + T(d/2 - 1): heads of half the size fill the
// length of one.
constexpr int kWindows = 4;
constexpr double kWindowHeight = 1.0 / 3;  // of the picture's
constexpr double kNoVariance = 1e-12;      // of patches of length one: a window of one colour

/// Rows of the grid.
struct Rows {
  int first, count;
};

Rows window(int head, int height) {
  const int count = std::max(1, static_cast<int>(std::lround(kWindowHeight * height)));
  const double step = static_cast<double>(height - count) / (kWindows - 1);
  return {static_cast<int>(std::lround(head * step)), count};
}

/// Whether a side of the grid has neighbours to take means of, and means to tell apart.
int has_means(int side) { return side > 2 ? 1 : 0; }

/// Means of 2 x 2 neighbours: what a single patch happens to show counts less. `x` are the patches
/// of `height` rows of the grid; `down` is 0 where rows are left alone.
EigenMatrixD neighbour_means(const EigenMatrix& x, int height, int width, int down) {
  const int across = has_means(width);
  EigenMatrixD means((height - down) * (width - across), x.cols());
  for (int r = 0; r + down < height; ++r) {
    for (int c = 0; c + across < width; ++c) {
      const int at = r * width + c, below = at + down * width;
      means.row(r * (width - across) + c) =
          0.25 *
          (x.row(at) + x.row(at + across) + x.row(below) + x.row(below + across)).cast<double>();
    }
  }
  return means;
}

/// Directions that the network's next layer reads, drawn at random, of length one on average.
Matrix read_by(const Matrix& reading, const Matrix& random) {
  const EigenMatrix drawn = product(EigenMatrix(as_eigen(reading).transpose()), as_eigen(random));
  const float length = drawn.norm() / std::sqrt(static_cast<float>(drawn.cols()));
  if (!(length > 0)) throw std::invalid_argument("reading is zero or not finite");
  return to_matrix(drawn / length);
}

class Riax final : public Aggregator {
 public:
  Riax(int feature_dim, const RiaxOptions& options, const Matrix& reading)
      : feature_dim_(feature_dim), options_(options) {
    for (int head = 0; head < kWindows; ++head) {
      const int kept = head_dim(head);
      const std::uint32_t seed = options.seed + (static_cast<std::uint32_t>(head) << 30);
      projections_[head] = reading.empty()
                               ? random_orthogonal(feature_dim, kept, seed)
                               : read_by(reading, random_orthogonal(reading.rows(), kept, seed));
    }
  }

  int dim() const override { return options_.d * (options_.d + 1) / 2; }

  Descriptor aggregate(const PatchFeatures& features) const override {
    const EigenVector scales = inverse_norms(checked_square_sums(features, feature_dim_));
    const int height = features.grid_height, width = features.grid_width;
    if (height < 1 || width < 1 || features.patches.rows() < height * width) {
      throw std::invalid_argument(
          fmt::format("{} patches are no grid of {} x {}", features.patches.rows(), height, width));
    }
    EigenVectorD descriptor = EigenVectorD::Zero(dim());
    Eigen::Index begin = 0;
    for (int head = 0; head < kWindows; ++head) {
      const EigenVectorD part = head_vector(features, scales, head);
      descriptor.segment(begin, part.size()) = part;
      begin += part.size();
    }
    return unit(descriptor);
  }

 private:
  int head_dim(int head) const { return options_.d / 2 - (head == kWindows - 1 ? 1 : 0); }

  /// Of length one; zeros for a window without variance.
  EigenVectorD head_vector(const PatchFeatures& features,
                           const EigenVector& scales,
                           int head) const {
    const int height = features.grid_height, width = features.grid_width;
    const int down = has_means(height);
    const Rows rows = window(head, height - down);
    const int first = rows.first * width, patches = (rows.count + down) * width;
    EigenMatrix x = product(as_eigen(features.patches).middleRows(first, patches),
                            as_eigen(projections_[head]));
    x.array().colwise() *= scales.segment(first, patches).array();
    EigenMatrixD means = neighbour_means(x, rows.count + down, width, down);
    means.rowwise() -= means.colwise().mean().eval();
    return log_vector(gram(means) / static_cast<double>(means.rows()));
  }

  EigenVectorD log_vector(EigenMatrixD covariance) const {
    const auto d = covariance.rows();
    const double mean = covariance.trace() / static_cast<double>(d);
    if (mean < kNoVariance) return EigenVectorD::Zero(d * (d + 1) / 2);
    covariance.diagonal().array() += options_.shrinkage * mean;
    const VectorD v = vectorize(remove_trace(matrix_log(to_matrix(covariance))));
    const double norm = as_eigen(v).norm();
    return norm > 0 ? EigenVectorD(as_eigen(v) / norm) : EigenVectorD(as_eigen(v));
  }

  int feature_dim_;
  RiaxOptions options_;
  std::array<Matrix, kWindows> projections_;  // D x what is kept of a patch
};

}  // namespace

void RiaxOptions::validate() const {
  if (d < 8 || d % 2 != 0) {
    throw std::invalid_argument(
        fmt::format("d is {}, an even number from 8 up was expected of riax", d));
  }
  if (!(shrinkage > 0) || !std::isfinite(shrinkage)) {
    throw std::invalid_argument(
        fmt::format("shrinkage is {}, a number above 0 was expected", shrinkage));
  }
}

std::unique_ptr<Aggregator> make_riax(int feature_dim,
                                      const RiaxOptions& options,
                                      const Matrix& reading) {
  options.validate();
  if (!reading.empty() && reading.cols() != feature_dim) {
    throw std::invalid_argument(
        fmt::format("reading has {} columns, the features have {}", reading.cols(), feature_dim));
  }
  const int most = 2 * (reading.empty() ? feature_dim : reading.rows());
  if (options.d > most) {
    throw std::invalid_argument(
        fmt::format("d is {}, at most {} was expected of riax on these features", options.d, most));
  }
  return std::make_unique<Riax>(feature_dim, options, reading);
}

}  // namespace ria
