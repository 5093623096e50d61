// SPDX-License-Identifier: MIT
// Approximate search in a map's file: candidates by the structure beside it, their cosines by the
// descriptors in the file.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "index/scan.h"
#include "index/store.h"
#include "ria/map.h"
#include "structure/candidates.h"

namespace ria {

class Approximate {
 public:
  /// The structure beside a map, if there is one for what the map holds now; else none, and `why`
  /// says in one line why not (empty: there is no file). Within a transaction.
  static std::unique_ptr<Approximate> open(const MapStore& store, std::string& why);

  explicit Approximate(SearchFile file) : candidates(Candidates::of(std::move(file))) {}

  std::unique_ptr<Candidates> candidates;
  /// Places from this one on are not in it.
  int end() const { return candidates->file.end(); }
  SearchInfo info() const;

  /// Places have been removed; false: too little is left as it was. Within a transaction.
  bool follow(const MapStore& store);
  void remove(const std::vector<int>& places);
  bool has(int place) const { return place < end() && !gone_[static_cast<std::size_t>(place)]; }

  using Found = std::vector<std::vector<CodedPlace>>;  ///< of each query
  Found find(const Matrix& queries, int k, const SearchOptions& options) const;
  /// The k most alike of the candidates. Within a transaction; `changed`: the file is not the one
  /// that was last followed.
  std::vector<std::vector<Match>> refine(
      const MapStore& store, const Matrix& queries, const Found& found, int k, bool changed) const;

 private:
  std::vector<float> compare(const MapStore& store,
                             std::span<const CodedPlace> some,
                             const EncodedQueries& queries,
                             int query,
                             bool changed) const;
  int block_of(int place) const;
  bool read(const MapStore& store, int place, bool changed, std::span<std::uint8_t> row) const;
  bool sample_is_sound(const MapStore& store) const;

  std::vector<bool> sound_;  ///< blocks that are as they were
  std::vector<bool> gone_;   ///< places
};

}  // namespace ria
