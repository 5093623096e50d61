// SPDX-License-Identifier: MIT
// Between ria's plain values and ATen's tensors. ATen alone is included: torch/torch.h takes a
// minute to compile and adds nothing that is needed here.
#pragma once

#include <ATen/ATen.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "train/engine.h"

namespace ria {

using at::Tensor;
using Tensors = std::map<std::string, Tensor>;

/// Named tensors of a network; at() names the one that is missing.
inline const Tensor& tensor_at(const Tensors& tensors, const std::string& name) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) throw std::invalid_argument("tensor " + name + " is missing");
  return found->second;
}

/// A copy that Torch owns.
inline Tensor to_tensor(const NamedTensor& named) {
  std::int64_t count = 1;
  for (const std::int64_t side : named.shape) count *= side;
  if (count != static_cast<std::int64_t>(named.values.size())) {
    throw std::invalid_argument("tensor " + named.name + " has another number of values than its " +
                                "shape says");
  }
  return at::from_blob(const_cast<float*>(named.values.data()), named.shape, at::kFloat).clone();
}

inline NamedTensor to_named(const std::string& name, const Tensor& tensor) {
  const Tensor plain = tensor.detach().to(at::kCPU, at::kFloat).contiguous();
  const float* values = plain.data_ptr<float>();
  return {name, plain.sizes().vec(), {values, values + plain.numel()}};
}

/// All but the last dimension as rows.
inline Matrix to_matrix(const Tensor& tensor) {
  const NamedTensor plain = to_named("", tensor);
  const auto columns = static_cast<int>(tensor.size(-1));
  const auto rows =
      static_cast<int>(c10::multiply_integers(tensor.sizes().slice(0, tensor.dim() - 1)));
  return {rows, columns, plain.values};
}

inline Tensor to_tensor(const MatrixD& matrix) {
  return at::from_blob(
             const_cast<double*>(matrix.data()), {matrix.rows(), matrix.cols()}, at::kDouble)
      .clone();
}

inline MatrixD to_matrix_d(const Tensor& tensor) {
  const Tensor plain = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* values = plain.data_ptr<double>();
  const auto columns = static_cast<int>(tensor.size(-1));
  return {static_cast<int>(tensor.numel() / columns),
          columns,
          std::vector<double>(values, values + plain.numel())};
}

}  // namespace ria
