// SPDX-License-Identifier: MIT
#include "nn/layer_source.h"

#include <utility>

namespace ria {

LinearSource behind_norm(LinearSource layer, const NormSource& norm) {
  for (int row = 0; row < layer.outputs; ++row) {
    std::vector<float> values(layer.inputs);
    layer.read(row, values.data());
    double shift = layer.bias[row];
    for (int k = 0; k < layer.inputs; ++k) shift += static_cast<double>(values[k]) * norm.bias[k];
    layer.bias[row] = static_cast<float>(shift);
  }
  layer.read = [read = std::move(layer.read), weight = norm.weight](int row, float* values) {
    read(row, values);
    for (std::size_t k = 0; k < weight.size(); ++k) values[k] *= weight[k];
  };
  return layer;
}

LinearSource scaled(LinearSource layer, const std::vector<float>& factors) {
  if (factors.empty()) return layer;
  for (int row = 0; row < layer.outputs; ++row) layer.bias[row] *= factors[row];
  layer.read = [read = std::move(layer.read), factors, inputs = layer.inputs](int row,
                                                                              float* values) {
    read(row, values);
    for (int k = 0; k < inputs; ++k) values[k] *= factors[row];
  };
  return layer;
}

}  // namespace ria
