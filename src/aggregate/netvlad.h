// SPDX-License-Identifier: MIT
// NetVLAD from its parts, for files, for vocabularies and for tests.
#pragma once

#include <memory>

#include "nn/gemm.h"
#include "ria/aggregator.h"

namespace ria {

/// A linear layer behind NetVLAD that is too large to be turned over at will.
struct Whitening {
  Matrix weight;  ///< out x in, or in x out if `transposed`; empty: none
  Vector bias;    ///< out
  bool transposed = false;
};

/// K clusters of D channels. Patches are brought to length one first.
struct NetVladWeights {
  Matrix score;       ///< K x D: a patch belongs to clusters by the softmax of score x + score_bias
  Vector score_bias;  ///< K; empty: none
  Matrix centroids;   ///< K x D, not negated
  bool channel_major =
      false;  ///< descriptors run [channel][cluster] (MATLAB), not [cluster][channel]
  Whitening whitening;
};

/// Throws std::invalid_argument if the parts do not fit each other.
std::unique_ptr<Aggregator> make_netvlad(NetVladWeights weights);

/// NetVLAD before any training: scores are `alpha` times the cosine to a centre (row).
NetVladWeights netvlad_of_vocabulary(const Matrix& centres, double alpha);
std::unique_ptr<Aggregator> make_netvlad_from_vocabulary(const Matrix& centres, double alpha);

/// The alpha for which the second best centre of a sample weighs a hundredth of the best on
/// average: -ln(0.01) / mean difference of the two largest cosines. `samples` are rows of length
/// one, as NetVLAD sees patches. Throws std::invalid_argument for fewer than two centres, no
/// samples or samples that are as near to one centre as to another.
double netvlad_alpha(const MatrixView& samples, const Matrix& centres);

}  // namespace ria
