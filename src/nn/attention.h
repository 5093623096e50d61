// SPDX-License-Identifier: MIT
// Attention and the layers around it with tokens as rows: what the heads of trained systems are
// made of. A backbone's blocks are transformer.h.
#pragma once

#include "nn/gemm.h"

namespace ria {

/// W x + b for each row; the weights are turned over once, so that rows meet them as they lie.
struct RowLinear {
  EigenMatrix turned;  ///< W^T, inputs x outputs
  EigenVector bias;    ///< outputs

  int inputs() const { return static_cast<int>(turned.rows()); }
  int outputs() const { return static_cast<int>(turned.cols()); }
  EigenMatrix run(const MatrixView& x) const;
};

/// Each row at mean 0 and variance 1, scaled and shifted.
struct RowNorm {
  EigenVector weight, bias;
  double eps = 1e-5;

  void run(EigenMatrix& x) const;
};

/// x, 0 where it is negative.
void relu(EigenMatrix& x);
/// The exact one, by the error function.
void gelu(EigenMatrix& x);

/// Multi-head attention as torch.nn.MultiheadAttention computes it.
struct RowAttention {
  RowLinear in;  ///< D -> queries, keys and values, D each and head by head
  RowLinear out;
  int heads = 1;

  int dim() const { return in.inputs(); }
  /// Queries, ready for attend(): what does not depend on the picture is computed once.
  EigenMatrix queries(const MatrixView& x) const;
  /// Rows of projected queries look at the rows of `memory`. Both are `groups` groups of
  /// consecutive rows, equally many, and a row looks at its own group only.
  EigenMatrix attend(const MatrixView& queries, const MatrixView& memory, int groups = 1) const;
  /// Every row looks at all of its group.
  EigenMatrix self(const MatrixView& x, int groups = 1) const;

 private:
  EigenMatrix look(const MatrixView& queries,
                   const MatrixView& keys,
                   const MatrixView& values,
                   int groups) const;
};

/// x = norm1(x + attention x), x = norm2(x + down act(up x)): torch.nn.TransformerEncoderLayer with
/// the norm behind.
struct RowEncoderLayer {
  RowAttention attention;
  RowNorm norm1, norm2;
  RowLinear up, down;
  void (*activation)(EigenMatrix&) = relu;

  void run(EigenMatrix& x, int groups = 1) const;
};

}  // namespace ria
