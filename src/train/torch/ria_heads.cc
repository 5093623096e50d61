// SPDX-License-Identifier: MIT
#include "train/torch/ria_heads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "train/torch/half.h"

namespace ria {

namespace {

Tensor shaped(const Tensors& tensors,
              const std::string& name,
              const std::vector<std::int64_t>& shape) {
  const Tensor& tensor = tensor_at(tensors, name);
  if (tensor.sizes().vec() != shape) {
    throw std::invalid_argument(fmt::format("tensor {} is [{}], [{}] was expected",
                                            name,
                                            fmt::join(tensor.sizes().vec(), ", "),
                                            fmt::join(shape, ", ")));
  }
  return tensor;
}

/// At length one; a row of zeros stays.
Tensor unit_rows(const Tensor& rows) {
  return rows / at::norm(rows, 2, {-1}, true).clamp_min(1e-12);
}

}  // namespace

RiaHeads::RiaHeads(const NetworkShape& shape, const Tensors& tensors, at::ScalarType half)
    : root_{shape.tau, shape.eps, shape.iterations},
      normalize_patches_(shape.normalize_patches),
      half_(half) {
  if (shape.heads.empty() || shape.iterations < 1) {
    throw std::invalid_argument("a network has one head or more and one iteration or more");
  }
  std::map<int, std::vector<int>> of_size;
  for (int h = 0; h < static_cast<int>(shape.heads.size()); ++h) {
    const HeadShape& wanted = shape.heads[h];
    const std::string name = fmt::format("heads.{}.", h);
    const std::int64_t values = std::int64_t{wanted.d} * (wanted.d + 1) / 2;
    Head head;
    head.d = wanted.d;
    head.projection = shaped(tensors, name + "projection.weight", {wanted.d, shape.feature_dim});
    if (wanted.out > 0) {
      const std::int64_t first = wanted.hidden > 0 ? wanted.hidden : wanted.out;
      head.weight0 = shaped(tensors, name + "mlp.0.weight", {first, values});
      head.bias0 = shaped(tensors, name + "mlp.0.bias", {first});
      if (wanted.hidden > 0) {
        head.weight2 = shaped(tensors, name + "mlp.2.weight", {wanted.out, first});
        head.bias2 = shaped(tensors, name + "mlp.2.bias", {wanted.out});
      }
    }
    heads_.push_back(head);
    of_size[wanted.d].push_back(h);
  }
  for (auto& [d, group] : of_size) groups_.push_back(std::move(group));
}

Tensor RiaHeads::projected(const Tensor& patches) const {
  std::vector<Tensor> projections;
  for (const std::vector<int>& group : groups_) {
    for (const int h : group) projections.push_back(heads_[h].projection);
  }
  const HalfPrecision half(half_, patches.device());
  return at::matmul(patches, at::cat(projections).t());
}

std::vector<Tensor> RiaHeads::vectors(const Tensor& patches) const {
  Tensor x = projected(patches).to(patches.scalar_type());
  // The lengths divide the small product instead of the large input.
  if (normalize_patches_) x = x / at::norm(patches, 2, {-1}, true).clamp_min(1e-12);
  std::vector<Tensor> out(heads_.size());
  std::int64_t first = 0;
  for (const std::vector<int>& group : groups_) {
    const std::int64_t d = heads_[group[0]].d, count = static_cast<std::int64_t>(group.size());
    const Tensor own = x.narrow(-1, first, count * d).reshape({x.size(0), x.size(1), count, d});
    const Tensor v = ria_vectors(own, root_);
    for (std::int64_t i = 0; i < count; ++i) out[group[i]] = v.select(1, i);
    first += count * d;
  }
  return out;
}

std::int64_t RiaHeads::dim() const {
  std::int64_t sum = 0;
  for (const Head& head : heads_) {
    const Tensor& last = head.weight2.defined() ? head.weight2 : head.weight0;
    sum += last.defined() ? last.size(0) : std::int64_t{head.d} * (head.d + 1) / 2;
  }
  return sum;
}

Tensor RiaHeads::finish(const Head& head, const Tensor& vector) const {
  if (!head.weight0.defined()) return vector;
  const Tensor x = at::linear(vector, head.weight0, head.bias0);
  return head.weight2.defined() ? at::linear(at::gelu(x), head.weight2, head.bias2) : x;
}

Tensor RiaHeads::descriptors(const Tensor& patches) const {
  const std::vector<Tensor> inputs = vectors(patches);
  std::vector<Tensor> parts;
  for (std::size_t h = 0; h < heads_.size(); ++h) parts.push_back(finish(heads_[h], inputs[h]));
  return unit_rows(at::cat(parts, -1));
}

}  // namespace ria
