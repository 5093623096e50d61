// SPDX-License-Identifier: MIT
// The known places and the search among them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "ria/features.h"

namespace ria {

/// One answer: which place, how alike (cosine, -1..1).
struct Match {
  int place = -1;
  float score = 0;
};

/// What an index was made with; a query must be made with the same.
struct IndexHeader {
  std::string method;          ///< e.g. resnet50-ria
  std::string options;         ///< JSON of every option that shapes a descriptor
  std::string weights_sha256;  ///< empty: the backbone has no weights
  std::string ria_version;
  int dim = 0;
};

/// Exact nearest places by cosine.
class Index {
 public:
  /// Throws std::invalid_argument unless header.dim is positive.
  explicit Index(IndexHeader header);
  ~Index();
  Index(Index&&) noexcept;
  Index& operator=(Index&&) noexcept;

  const IndexHeader& header() const;
  int size() const;
  /// Names of the places, in the order they were added.
  const std::vector<std::string>& names() const;
  /// A fitted projection that queries need, or empty.
  const Matrix& projection() const;
  void set_projection(Matrix projection);

  /// Adds unit vectors, one a row. Throws std::invalid_argument on another width, NaN, or a name
  /// count that differs from the row count.
  void add(const Matrix& descriptors, const std::vector<std::string>& names);

  /// The k most alike places for each row, best first; fewer if the index holds fewer.
  std::vector<std::vector<Match>> search(const Matrix& queries, int k) const;
  std::vector<Match> search(const Descriptor& query, int k) const;

  /// Written whole or not at all.
  void save(const std::filesystem::path& file) const;
  /// Throws std::runtime_error naming the file if it is missing, cut short or no index.
  static Index load(const std::filesystem::path& file);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ria
