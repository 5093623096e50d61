// SPDX-License-Identifier: MIT
#include "train/hard_pairs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ria/eigen.h"

namespace ria {

namespace {

/// Two places first; in each kind the hardest first. Ties by name, so that the order is one.
bool harder(const HardPair& a, const HardPair& b) {
  if (a.same_place != b.same_place) return b.same_place;
  if (a.cosine != b.cosine) return a.same_place ? a.cosine < b.cosine : a.cosine > b.cosine;
  return std::pair(a.first, a.second) < std::pair(b.first, b.second);
}

bool same_files(const HardPair& a, const HardPair& b) {
  return a.first == b.first && a.second == b.second;
}

/// The first kKeptPairs of each kind in an ordered list, each pair of files once.
void trim(std::vector<HardPair>& pairs) {
  std::vector<HardPair> kept;
  for (HardPair& pair : pairs) {
    const auto of_kind = std::count_if(kept.begin(), kept.end(), [&](const HardPair& other) {
      return other.same_place == pair.same_place;
    });
    const bool there = std::any_of(
        kept.begin(), kept.end(), [&](const HardPair& other) { return same_files(other, pair); });
    if (of_kind < kKeptPairs && !there) kept.push_back(std::move(pair));
  }
  pairs = std::move(kept);
}

}  // namespace

void add_hard_pairs(const Matrix& descriptors,
                    const std::vector<std::int64_t>& labels,
                    const std::vector<std::filesystem::path>& files,
                    std::vector<HardPair>& kept) {
  // Each picture brings its hardest pair of each kind: the list shows different pictures.
  const EigenMatrix cosines = as_eigen(descriptors) * as_eigen(descriptors).transpose();
  const int count = descriptors.rows();
  for (int i = 0; i < count; ++i) {
    int alike = -1, unlike = -1;
    for (int j = 0; j < count; ++j) {
      if (files[i] == files[j] || !std::isfinite(cosines(i, j))) continue;
      int& hardest = labels[i] == labels[j] ? unlike : alike;
      const bool better =
          hardest < 0 || (labels[i] == labels[j] ? cosines(i, j) < cosines(i, hardest)
                                                 : cosines(i, j) > cosines(i, hardest));
      if (better) hardest = j;
    }
    for (const int j : {alike, unlike}) {
      if (j < 0) continue;
      const auto [first, second] = std::minmax(files[i], files[j]);
      kept.push_back({first, second, j == unlike, cosines(i, j)});
    }
  }
  std::sort(kept.begin(), kept.end(), harder);
  trim(kept);
}

}  // namespace ria
