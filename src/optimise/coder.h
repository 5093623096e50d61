// SPDX-License-Identifier: MIT
// Descriptors -> lists and codes, or the codes of a graph.
#pragma once

#include <string>
#include <vector>

#include "optimise/sample.h"
#include "optimise/trainer.h"
#include "ria/eigen.h"
#include "structure/search_file.h"

namespace ria {

/// How large a structure becomes: from the number of places and the memory there is.
SearchShape choose_shape(SearchKind kind, int places, int dim, std::int64_t max_memory);

class Coder {
 public:
  /// Trains with places of the map.
  Coder(const SearchShape& shape,
        const Blocks& blocks,
        std::int64_t max_memory,
        std::uint64_t seed,
        const FaissFunctions& faiss);
  /// What values() gave.
  Coder(const SearchShape& shape, std::vector<float> values);

  const SearchShape& shape() const { return shape_; }
  /// The arrays of SearchModel.
  const std::vector<float>& values() const { return values_; }

  struct Codes {
    std::vector<std::int32_t> lists;
    std::vector<std::uint8_t> codes;
    std::vector<std::uint16_t> errors;
    std::vector<NodeSize> sizes;
  };  ///< as CodedBlock has them
  Codes code(const Matrix& rows) const;

 private:
  void reduce(const Blocks& blocks, std::int64_t max_memory, const FaissFunctions& faiss);
  void make_lists(const Blocks& blocks,
                  std::int64_t max_memory,
                  std::uint64_t seed,
                  const FaissFunctions& faiss);
  void prepare();
  Codes bytes_of(const EigenMatrix& projected) const;
  EigenMatrix project(const Matrix& rows) const;
  std::vector<std::int32_t> nearest_centres(const EigenMatrix& projected) const;

  SearchShape shape_;
  std::vector<float> values_;
  SearchModel model_;                 // of these
  EigenMatrix projection_, centres_;  // transposed: [dim][reduced], [reduced][lists]
  EigenVector mean_, centre_squares_;
};

}  // namespace ria
