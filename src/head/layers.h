// SPDX-License-Identifier: MIT
// Layers of a head under torch's names.
#pragma once

#include <string>

#include "head/head_tensors.h"
#include "nn/attention.h"

namespace ria {

/// NAME.weight and NAME.bias: a linear layer or a 1x1 convolution.
RowLinear read_linear(const HeadTensors& head,
                      const std::string& name,
                      std::int64_t outputs = HeadTensors::kAny,
                      std::int64_t inputs = HeadTensors::kAny);

RowNorm read_norm(const HeadTensors& head, const std::string& name, int dim);

/// torch.nn.MultiheadAttention; the number of heads is in no file.
RowAttention read_attention(const HeadTensors& head, const std::string& name, int dim, int heads);

/// torch.nn.TransformerEncoderLayer with the norm behind.
RowEncoderLayer read_encoder_layer(const HeadTensors& head,
                                   const std::string& name,
                                   int dim,
                                   int heads,
                                   void (*activation)(EigenMatrix&));

/// What a head of queries starts from: norm(queries + attention of the queries among themselves).
EigenMatrix settled_queries(const EigenMatrix& queries,
                            const RowAttention& attention,
                            const RowNorm& norm);

/// A linear layer over what queries saw (rows), the last of a head: [channel][output] at length
/// one.
struct OverQueries {
  Matrix weight;  ///< outputs x queries
  Vector bias;    ///< outputs

  Descriptor run(const EigenMatrix& seen) const;
};
OverQueries read_over_queries(const HeadTensors& head,
                              const std::string& name,
                              std::int64_t queries);

}  // namespace ria
