// SPDX-License-Identifier: MIT
#include "head/layers.h"

#include <fmt/format.h>

#include "aggregate/features.h"

namespace ria {

RowLinear read_linear(const HeadTensors& head,
                      const std::string& name,
                      std::int64_t outputs,
                      std::int64_t inputs) {
  const Matrix weight = head.matrix(name + ".weight", outputs, inputs);
  return {as_eigen(weight).transpose(), as_eigen(head.vector(name + ".bias", weight.rows()))};
}

RowNorm read_norm(const HeadTensors& head, const std::string& name, int dim) {
  return {as_eigen(head.vector(name + ".weight", dim)), as_eigen(head.vector(name + ".bias", dim))};
}

RowAttention read_attention(const HeadTensors& head, const std::string& name, int dim, int heads) {
  const std::string weight = name + ".in_proj_weight";
  const Matrix in = head.matrix(weight, 3 * std::int64_t{dim}, dim);
  if (heads < 1 || dim % heads != 0) {
    head.refuse(weight, fmt::format("has {} columns, a multiple of {} was expected", dim, heads));
  }
  return {{as_eigen(in).transpose(), as_eigen(head.vector(name + ".in_proj_bias", in.rows()))},
          read_linear(head, name + ".out_proj", dim, dim),
          heads};
}

RowEncoderLayer read_encoder_layer(const HeadTensors& head,
                                   const std::string& name,
                                   int dim,
                                   int heads,
                                   void (*activation)(EigenMatrix&)) {
  RowLinear up = read_linear(head, name + ".linear1", HeadTensors::kAny, dim);
  RowLinear down = read_linear(head, name + ".linear2", dim, up.outputs());
  return {read_attention(head, name + ".self_attn", dim, heads),
          read_norm(head, name + ".norm1", dim),
          read_norm(head, name + ".norm2", dim),
          std::move(up),
          std::move(down),
          activation};
}

EigenMatrix settled_queries(const EigenMatrix& queries,
                            const RowAttention& attention,
                            const RowNorm& norm) {
  EigenMatrix settled = queries + attention.self(queries);
  norm.run(settled);
  return settled;
}

Descriptor OverQueries::run(const EigenMatrix& seen) const {
  EigenMatrix rows = product(as_eigen(weight), seen);
  rows.colwise() += as_eigen(bias);
  const EigenMatrix turned = rows.transpose();
  return unit(Eigen::Map<const EigenVector>(turned.data(), turned.size()).cast<double>());
}

OverQueries read_over_queries(const HeadTensors& head,
                              const std::string& name,
                              std::int64_t queries) {
  OverQueries layer{head.matrix(name + ".weight", HeadTensors::kAny, queries), {}};
  layer.bias = head.vector(name + ".bias", layer.weight.rows());
  return layer;
}

}  // namespace ria
