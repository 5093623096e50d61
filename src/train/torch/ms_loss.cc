// SPDX-License-Identifier: MIT
#include "train/torch/ms_loss.h"

#include <limits>

namespace ria {

namespace {

/// log(1 + sum of exp over the kept), for each row.
Tensor log_one_plus_sum(const Tensor& exponents, const Tensor& kept) {
  const Tensor left =
      exponents.masked_fill(kept.logical_not(), -std::numeric_limits<double>::infinity());
  return at::logsumexp(at::cat({left, at::zeros({left.size(0), 1}, left.options())}, 1), 1);
}

}  // namespace

MinedLoss multi_similarity(const Tensor& descriptors,
                           const Tensor& labels,
                           const EngineOptions& options) {
  MinedLoss out;
  if (descriptors.size(0) == 0) {
    out.positive = out.negative = at::zeros({0, 0}, labels.options().dtype(at::kBool));
    out.loss = descriptors.sum();
    return out;
  }
  const Tensor unit = descriptors / at::norm(descriptors, 2, {-1}, true).clamp_min(1e-12);
  const Tensor similarity = at::matmul(unit, unit.t());
  const Tensor same = labels.unsqueeze(0) == labels.unsqueeze(1);
  const Tensor self = at::eye(labels.size(0), labels.options().dtype(at::kBool));
  out.positive = same.logical_and(self.logical_not());
  out.negative = same.logical_not();
  if (options.miner_eps >= 0) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const Tensor s = similarity.detach();
    const Tensor most = std::get<0>(s.masked_fill(same, -kInfinity).max(1, true));
    const Tensor least =
        std::get<0>(s.masked_fill(out.positive.logical_not(), kInfinity).min(1, true));
    out.positive = out.positive.logical_and(s - options.miner_eps < most);
    out.negative = out.negative.logical_and(s + options.miner_eps > least);
  }
  const Tensor attract =
      log_one_plus_sum((options.ms_base - similarity) * options.ms_alpha, out.positive);
  const Tensor repel =
      log_one_plus_sum((similarity - options.ms_base) * options.ms_beta, out.negative);
  out.loss = (attract / options.ms_alpha + repel / options.ms_beta).mean();
  return out;
}

}  // namespace ria
