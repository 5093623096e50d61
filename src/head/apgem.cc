// SPDX-License-Identifier: MIT
// AP-GeM: generalised mean of the channels as they are, a linear layer, and a whitening that the
// file brings as a fitted PCA.
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "aggregate/features.h"
#include "head/head_tensors.h"
#include "head/heads.h"
#include "nn/row_blocks.h"

namespace ria {

namespace {

constexpr char kExponent[] = "adpool.p";
constexpr char kPcas[] = "pca.";  // behind it a name and the PCA's own fields

class ApGem final : public Aggregator {
 public:
  ApGem(std::unique_ptr<Aggregator> pooled, LinearLayer whitening)
      : pooled_(std::move(pooled)), whitening_(std::move(whitening)) {}

  int dim() const override {
    return whitening_.weight.empty() ? pooled_->dim() : whitening_.weight.rows();
  }

  Descriptor aggregate(const PatchFeatures& features) const override {
    const Descriptor pooled = pooled_->aggregate(features);
    if (whitening_.weight.empty()) return pooled;
    const EigenVector white = times_vector(as_eigen(whitening_.weight), as_eigen(pooled));
    return unit((white + as_eigen(whitening_.bias)).cast<double>());
  }

 private:
  std::unique_ptr<Aggregator> pooled_;
  LinearLayer whitening_;
};

/// The one of the training pictures that the project evaluates with, or the first there is; empty
/// if there is none.
std::string find_pca(const TensorFile& file) {
  const std::string usual = std::string(kPcas) + "Landmarks_clean", field = ".components_";
  if (file.contains(usual + field)) return usual;
  for (const auto& [name, tensor] : file.tensors()) {
    if (name.starts_with(kPcas) && name.ends_with(field)) {
      return name.substr(0, name.size() - field.size());
    }
  }
  return "";
}

/// components (x - mean) / variance^power as one layer.
LinearLayer read_whitening(const TensorFile& file, int inputs, const ApGemOptions& options) {
  const std::string name = find_pca(file);
  if (name.empty()) {
    throw std::runtime_error(
        fmt::format("{} holds no whitening of AP-GeM: a fitted PCA below 'pca' was expected",
                    file.path().string()));
  }
  const std::string variances = name + ".explained_variance_";
  const HeadTensors pca(
      file, "AP-GeM whitening", {name + ".mean_", name + ".components_", variances});
  const EigenVectorD mean = as_eigen(pca.vector(name + ".mean_", inputs)).cast<double>();
  EigenMatrixD rows =
      as_eigen(pca.matrix(name + ".components_", HeadTensors::kAny, inputs)).cast<double>();
  const EigenVectorD variance = as_eigen(pca.vector(variances, rows.rows())).cast<double>();
  if (!(variance.minCoeff() > 0)) pca.refuse(variances, "holds 0 or less, variances were expected");
  if (options.components > 0) {
    rows.conservativeResize(std::min<Eigen::Index>(options.components, rows.rows()), inputs);
  }
  for (Eigen::Index k = 0; k < rows.rows(); ++k)
    rows.row(k) /= std::pow(variance[k], options.power);
  const EigenVectorD bias = -rows * mean;
  return {to_matrix(rows.cast<float>()), to_vector(bias.cast<float>())};
}

}  // namespace

std::unique_ptr<Aggregator> read_apgem(const TensorFile& file, const ApGemOptions& options) {
  const HeadTensors head(file, "AP-GeM head", {kExponent, "fc.weight"});
  GemOptions gem;
  gem.normalize_patches = false;
  gem.p = head.scalar(kExponent);
  if (!(gem.p > 0)) {
    head.refuse(kExponent, fmt::format("is {}, a number above 0 was expected", gem.p));
  }
  LinearLayer layer{head.matrix("fc.weight"), {}};
  layer.bias = head.vector("fc.bias", layer.weight.rows());
  const int dim = layer.weight.rows();
  LinearLayer whitening;
  if (options.whiten) whitening = read_whitening(file, dim, options);
  return std::make_unique<ApGem>(make_gem(layer.weight.cols(), gem, layer), std::move(whitening));
}

}  // namespace ria
