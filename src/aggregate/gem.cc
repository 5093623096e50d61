// SPDX-License-Identifier: MIT
// First-order heads: generalised mean pooling and the mean, which is its p = 1.
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "aggregate/features.h"
#include "nn/gemm.h"
#include "ria/aggregator.h"

namespace ria {

namespace {

bool is_odd_whole(double p) { return p == std::floor(p) && std::fmod(p, 2.0) != 0; }

double power(double x, double p) {
  if (p == 1) return x;
  return p == 3 ? x * x * x : std::pow(x, p);
}

class Gem final : public Aggregator {
 public:
  Gem(int feature_dim, const GemOptions& options, LinearLayer layer)
      : feature_dim_(feature_dim), options_(options), layer_(std::move(layer)) {}

  int dim() const override { return layer_.weight.empty() ? feature_dim_ : layer_.weight.rows(); }

  Descriptor aggregate(const PatchFeatures& features) const override {
    checked_square_sums(features, feature_dim_);
    const Vector pooled = gem_pool(features.patches, options_);
    if (layer_.weight.empty()) return unit(as_eigen(pooled).cast<double>());
    return unit(
        (as_eigen(layer_.weight) * as_eigen(pooled) + as_eigen(layer_.bias)).cast<double>());
  }

 private:
  int feature_dim_;
  GemOptions options_;
  LinearLayer layer_;
};

}  // namespace

void GemOptions::validate() const {
  if (!(p > 0) || !std::isfinite(p)) {
    throw std::invalid_argument(fmt::format("p is {}, a number above 0 was expected", p));
  }
  if (sign == GemSign::kPreserve && !is_odd_whole(p)) {
    throw std::invalid_argument(
        fmt::format("p is {}, an odd whole number was expected where signs are preserved", p));
  }
  if (!(gem_eps > 0)) {
    throw std::invalid_argument(
        fmt::format("gem_eps is {}, a number above 0 was expected", gem_eps));
  }
}

Vector gem_pool(const Matrix& patches, const GemOptions& options) {
  options.validate();
  const EigenVector scale = options.normalize_patches
                                ? inverse_norms(row_square_sums(as_eigen(patches)))
                                : EigenVector::Ones(patches.rows());
  EigenVectorD sum = EigenVectorD::Zero(patches.cols());
  for (int i = 0; i < patches.rows(); ++i) {
    const float* row = patches.row(i).data();
    for (int j = 0; j < patches.cols(); ++j) {
      const double x = row[j] * scale[i];
      switch (options.sign.value_or(GemSign::kClamp)) {
        case GemSign::kPreserve:
          sum[j] += power(x, options.p);
          break;
        case GemSign::kClamp:
          sum[j] += power(std::max(x, options.gem_eps), options.p);
          break;
        case GemSign::kAbsolute:
          sum[j] += power(std::abs(x), options.p);
          break;
      }
    }
  }
  const EigenVectorD mean = sum / static_cast<double>(patches.rows());
  const auto root = [&](double m) {
    return std::copysign(std::pow(std::abs(m), 1 / options.p), m);
  };
  return to_vector(mean.unaryExpr(root).cast<float>());
}

std::unique_ptr<Aggregator> make_gem(int feature_dim,
                                     const GemOptions& options,
                                     const LinearLayer& layer) {
  options.validate();
  if (!layer.weight.empty() &&
      (layer.weight.cols() != feature_dim || std::ssize(layer.bias) != layer.weight.rows())) {
    throw std::invalid_argument(
        fmt::format("linear layer is {}x{} with {} biases, the features have {} columns",
                    layer.weight.rows(),
                    layer.weight.cols(),
                    layer.bias.size(),
                    feature_dim));
  }
  return std::make_unique<Gem>(feature_dim, options, layer);
}

std::unique_ptr<Aggregator> make_mean(int feature_dim, bool normalize_patches) {
  GemOptions options;
  options.p = 1;
  options.sign = GemSign::kPreserve;
  options.normalize_patches = normalize_patches;
  return make_gem(feature_dim, options);
}

}  // namespace ria
