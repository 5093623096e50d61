// SPDX-License-Identifier: MIT
// What a search structure needs of FAISS: the plugin libria-faiss.so.
#pragma once

#include <cstdint>

namespace ria {

/// Rows are floats, one behind the other. The same rows and seed give the same values.
struct FaissFunctions {
  /// Principal directions, `reduced` rows of dim values, strongest first, with their variances.
  void (*pca)(const float* rows,
              int count,
              int dim,
              int reduced,
              float* mean,
              float* directions,
              float* variances);
  void (*kmeans)(
      const float* rows, int count, int dim, int centres, std::uint64_t seed, float* out);
  /// 16 entries for each of `parts` equal parts of a row: [part][entry][dim / parts].
  void (*tables)(const float* rows, int count, int dim, int parts, float* out);
};

}  // namespace ria
