// SPDX-License-Identifier: MIT
// NetVLAD: soft assignment of patches to clusters, residuals to their centres, each cluster and
// then the whole at length one.
#include "aggregate/netvlad.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "aggregate/features.h"
#include "nn/gemm.h"
#include "nn/row_blocks.h"

namespace ria {

namespace {

void check(const NetVladWeights& w) {
  const int clusters = w.score.rows(), channels = w.score.cols();
  const auto require = [](bool holds, const std::string& message) {
    if (!holds) throw std::invalid_argument("NetVLAD: " + message);
  };
  require(!w.score.empty(), "at least one cluster was expected");
  require(w.centroids.rows() == clusters && w.centroids.cols() == channels,
          fmt::format("centroids are {}x{}, the scores {}x{}",
                      w.centroids.rows(),
                      w.centroids.cols(),
                      clusters,
                      channels));
  require(w.score_bias.empty() || std::ssize(w.score_bias) == clusters,
          fmt::format("{} biases for {} clusters", w.score_bias.size(), clusters));
  if (w.whitening.weight.empty()) return;
  const Matrix& m = w.whitening.weight;
  const int in = w.whitening.transposed ? m.rows() : m.cols();
  const int out = w.whitening.transposed ? m.cols() : m.rows();
  require(in == std::int64_t{clusters} * channels && out == std::ssize(w.whitening.bias),
          fmt::format("whitening takes {} values and has {} outputs and {} biases, {} values come",
                      in,
                      out,
                      w.whitening.bias.size(),
                      std::int64_t{clusters} * channels));
}

class NetVlad final : public Aggregator {
 public:
  explicit NetVlad(NetVladWeights weights)
      : weights_(std::move(weights)), score_(as_eigen(weights_.score).transpose()) {}

  int dim() const override {
    return static_cast<int>(weights_.whitening.weight.empty() ? weights_.centroids.size()
                                                              : weights_.whitening.bias.size());
  }

  Descriptor aggregate(const PatchFeatures& features) const override {
    const EigenVector square_sums = checked_square_sums(features, static_cast<int>(score_.rows()));
    const EigenVector lengths = inverse_norms(square_sums);
    const auto patches = as_eigen(features.patches);
    const EigenMatrixD residuals = normalized_residuals(patches, lengths, assign(patches, lengths));
    const Descriptor vlad = unit(flat(residuals));
    return weights_.whitening.weight.empty() ? vlad : whiten(vlad);
  }

 private:
  /// One row a patch, one column a cluster; rows sum to one.
  EigenMatrixD assign(const MatrixView& patches, const EigenVector& lengths) const {
    EigenMatrixD a = (lengths.asDiagonal() * product(patches, score_)).cast<double>();
    if (!weights_.score_bias.empty()) {
      a.rowwise() += as_eigen(weights_.score_bias).transpose().cast<double>();
    }
    for (Eigen::Index i = 0; i < a.rows(); ++i) {
      a.row(i) = (a.row(i).array() - a.row(i).maxCoeff()).exp();
      a.row(i) /= a.row(i).sum();
    }
    return a;
  }

  /// Clusters x channels. In double: what is left of a sum of patches less the centre as often may
  /// be much smaller than either.
  EigenMatrixD normalized_residuals(const MatrixView& patches,
                                    const EigenVector& lengths,
                                    const EigenMatrixD& assignment) const {
    const EigenMatrixD scaled = lengths.cast<double>().asDiagonal() * assignment;
    EigenMatrixD v = product(scaled.transpose(), patches.cast<double>());
    const EigenVectorD weight = assignment.colwise().sum();
    v -= weight.asDiagonal() * as_eigen(weights_.centroids).cast<double>();
    for (Eigen::Index k = 0; k < v.rows(); ++k) v.row(k) /= std::max(v.row(k).norm(), 1e-12);
    return v;
  }

  EigenVectorD flat(const EigenMatrixD& v) const {
    if (!weights_.channel_major) return Eigen::Map<const EigenVectorD>(v.data(), v.size());
    const EigenMatrixD turned = v.transpose();
    return Eigen::Map<const EigenVectorD>(turned.data(), turned.size());
  }

  Descriptor whiten(const Descriptor& vlad) const {
    const Whitening& w = weights_.whitening;
    const auto weight = as_eigen(w.weight);
    const EigenVector x = as_eigen(vlad);
    const EigenVector y =
        w.transposed ? transposed_times_vector(weight, x) : times_vector(weight, x);
    return unit((y + as_eigen(w.bias)).cast<double>());
  }

  NetVladWeights weights_;
  EigenMatrix score_;  ///< D x K
};

/// Each row at length one, in double as the initialisation is published.
EigenMatrixD unit_rows(const Matrix& centres) {
  EigenMatrixD rows = as_eigen(centres).cast<double>();
  for (Eigen::Index k = 0; k < rows.rows(); ++k) {
    const double norm = rows.row(k).norm();
    if (!(norm > 0) || !std::isfinite(norm)) {
      throw std::invalid_argument(fmt::format(
          "centre {} of the vocabulary has length {}, a finite one above 0 was expected", k, norm));
    }
    rows.row(k) /= norm;
  }
  return rows;
}

}  // namespace

std::unique_ptr<Aggregator> make_netvlad(NetVladWeights weights) {
  check(weights);
  return std::make_unique<NetVlad>(std::move(weights));
}

NetVladWeights netvlad_of_vocabulary(const Matrix& centres, double alpha) {
  if (!(alpha > 0) || !std::isfinite(alpha)) {
    throw std::invalid_argument(fmt::format("alpha is {}, a number above 0 was expected", alpha));
  }
  NetVladWeights weights;
  weights.score = to_matrix((alpha * unit_rows(centres)).cast<float>());
  weights.centroids = centres;
  return weights;
}

std::unique_ptr<Aggregator> make_netvlad_from_vocabulary(const Matrix& centres, double alpha) {
  return make_netvlad(netvlad_of_vocabulary(centres, alpha));
}

double netvlad_alpha(const MatrixView& samples, const Matrix& centres) {
  if (centres.rows() < 2 || samples.rows() < 1 || samples.cols() != centres.cols()) {
    throw std::invalid_argument(
        fmt::format("{}x{} samples and {}x{} centres, rows of the same length and at least two "
                    "centres were expected",
                    samples.rows(),
                    samples.cols(),
                    centres.rows(),
                    centres.cols()));
  }
  const EigenMatrixD directions = unit_rows(centres).transpose();
  const EigenMatrixD cosines = product(samples.cast<double>(), directions);
  double differences = 0;
  for (Eigen::Index i = 0; i < cosines.rows(); ++i) {
    EigenVectorD row = cosines.row(i);
    std::nth_element(row.data(), row.data() + 1, row.data() + row.size(), std::greater<>());
    differences += row[0] - row[1];
  }
  const double mean = differences / static_cast<double>(cosines.rows());
  if (!(mean > 0) || !std::isfinite(mean)) {
    throw std::invalid_argument("the samples are as near to one centre as to another");
  }
  return -std::log(0.01) / mean;
}

}  // namespace ria
