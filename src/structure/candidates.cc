// SPDX-License-Identifier: MIT
#include "structure/candidates.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace ria {

namespace {

/// Rows that kernels can read: whole lines, aligned.
AlignedBuffer<float> aligned(std::span<const float> values) {
  AlignedBuffer<float> buffer(values.size());
  std::memcpy(buffer.data(), values.data(), values.size_bytes());
  return buffer;
}

double dot(std::span<const float> a, std::span<const float> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

std::vector<float> row_products(const float* rows,
                                int count,
                                std::span<const float> x,
                                int values) {
  AlignedBuffer<float> query(static_cast<std::size_t>(values));
  std::memcpy(query.data(), x.data(), x.size_bytes());
  std::vector<float> sums(static_cast<std::size_t>(count));
  scan_kernels().front()->floats({rows, count, query.data(), 1, values, sums.data()});
  return sums;
}

std::unique_ptr<Candidates> Candidates::of(SearchFile file) {
  return file.shape().kind == SearchKind::kGraph ? graph_candidates(std::move(file))
                                                 : list_candidates(std::move(file));
}

Candidates::Candidates(SearchFile opened)
    : file(std::move(opened)), projection_(aligned(file.model().projection)) {
  projected_mean_ = project(file.model().mean.first(static_cast<std::size_t>(file.shape().dim)));
}

std::vector<float> Candidates::project(std::span<const float> x) const {
  return row_products(projection_.data(), file.shape().reduced, x, file.shape().values());
}

std::vector<float> Candidates::from_mean(std::span<const float> projected) const {
  std::vector<float> off(projected.begin(), projected.end());
  for (std::size_t i = 0; i < off.size(); ++i) off[i] -= projected_mean_[i];
  return off;
}

std::pair<double, double> Candidates::spread(std::span<const float> query) const {
  const std::vector<float> projected = project(query);
  const std::span<const float> variances = file.model().variances;
  double variance = 0, inside = 0;
  for (std::size_t i = 0; i < projected.size(); ++i) {
    const double square = double{projected[i]} * projected[i];
    variance += variances[i] * square;
    inside += square;
  }
  variance += variances.back() * std::max(0.0, dot(query, query) - inside);
  return {dot(query, file.model().mean.first(query.size())), std::sqrt(variance)};
}

}  // namespace ria
