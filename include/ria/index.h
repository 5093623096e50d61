// SPDX-License-Identifier: MIT
// The known places and the search among them.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ria/api.h"
#include "ria/features.h"

namespace ria {

/// One answer: which place, how alike (cosine, -1..1; the score of a re-ranker where one ordered
/// the answers).
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
class RIA_API Index {
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
  /// What was fitted and queries need (projection, vocabulary, mean, ...), by name.
  const std::map<std::string, Matrix>& fitted() const;
  void set_fitted(std::map<std::string, Matrix> fitted);
  /// What a re-ranker needs of each place, in their order; empty where nothing was kept.
  const std::vector<PackedLocalFeatures>& locals() const;

  /// Adds unit vectors, one a row, with what a re-ranker needs of each. Throws
  /// std::invalid_argument on another width, NaN, or a number of names or local features that
  /// differs from the row count; an index keeps local features of all its places or of none.
  void add(const Matrix& descriptors,
           const std::vector<std::string>& names,
           std::vector<PackedLocalFeatures> locals = {});

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
