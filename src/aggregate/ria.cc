// SPDX-License-Identifier: MIT
// Riemannian Invariant Aggregation. Equation numbers are the paper's.
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "aggregate/features.h"
#include "aggregate/ria_steps.h"
#include "ria/aggregator.h"
#include "ria/eigen.h"

namespace ria {

namespace {

Matrix make_projection(int feature_dim, const RiaOptions& options) {
  if (options.projection == "none") return {};
  if (options.projection == "random")
    return random_orthogonal(feature_dim, options.d, options.seed);
  throw std::invalid_argument(
      fmt::format("projection {} needs a matrix: fit it or read it first", options.projection));
}

class Ria final : public Aggregator {
 public:
  Ria(int feature_dim, const RiaOptions& options, Matrix projection)
      : feature_dim_(feature_dim), options_(options), projection_(std::move(projection)) {
    const int d = projection_.empty() ? feature_dim : projection_.cols();
    dim_ = d * (d + 1) / 2;
  }

  int dim() const override { return dim_; }

  Descriptor aggregate(const PatchFeatures& features) const override {
    const EigenVector square_sums = checked_square_sums(features, feature_dim_);
    return unit(as_eigen(
        ria_vector(ria_project(features.patches, square_sums, projection_, options_), options_)));
  }

 private:
  int feature_dim_;
  RiaOptions options_;
  Matrix projection_;
  int dim_;
};

}  // namespace

Aggregator::~Aggregator() = default;

std::vector<Descriptor> Aggregator::aggregate_together(
    std::span<const PatchFeatures> pictures) const {
  std::vector<Descriptor> descriptors;
  for (const PatchFeatures& features : pictures) descriptors.push_back(aggregate(features));
  return descriptors;
}

void RiaOptions::validate() const {
  const auto require = [](bool holds, const char* field, auto value, const char* expected) {
    if (!holds)
      throw std::invalid_argument(fmt::format("{} is {}, {} was expected", field, value, expected));
  };
  require(d >= 1, "d", d, "at least 1");
  require(tau >= 0 && std::isfinite(tau), "tau", tau, "a number from 0 up");
  require(eps >= 0 && std::isfinite(eps), "eps", eps, "a number from 0 up");
  require(iterations >= 1, "iterations", iterations, "at least 1");
  require(alpha > 0 && alpha <= 1, "alpha", alpha, "a number in (0, 1]");
}

MatrixD ria_covariance(const PatchFeatures& features,
                       const RiaOptions& options,
                       const Matrix& projection) {
  const int dim = projection.empty() ? features.patches.cols() : projection.rows();
  const EigenVector square_sums = checked_square_sums(features, dim);
  return regularized_covariance(ria_project(features.patches, square_sums, projection, options),
                                options);
}

std::unique_ptr<Aggregator> make_ria(int feature_dim,
                                     const RiaOptions& options,
                                     const Matrix& projection) {
  options.validate();
  if (!projection.empty() && projection.rows() != feature_dim) {
    throw std::invalid_argument(fmt::format(
        "projection has {} rows, the features have {} columns", projection.rows(), feature_dim));
  }
  return std::make_unique<Ria>(
      feature_dim,
      options,
      projection.empty() ? make_projection(feature_dim, options) : projection);
}

}  // namespace ria
