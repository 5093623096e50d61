// SPDX-License-Identifier: MIT
// As many places as one likes, drawn around the descriptors of a rendered street.
#pragma once

#include <cstdint>
#include <vector>

#include "ria/matrix.h"

namespace ria::bench {

/// How near the nearest place is beside an ordinary one.
struct Contrast {
  double nearest_over_mean = 0;  ///< distances, a query's, on average
  double positive = 0;           ///< cosine with the right place, on average
  double mean = 0;               ///< cosine with any place
};

/// Of queries among places; the right ones are given where they are known.
Contrast contrast_of(const Matrix& places,
                     const Matrix& queries,
                     const std::vector<std::vector<int>>& positives);

/// 200 places of so many, spread over all of them: those that are asked for.
std::vector<int> asked_places(int places);

/// Descriptors vary as those of a rendered street do. Places: the mean, the directions and the
/// variances of a first drive, and what a picture of it has that others do not have is spread over
/// all directions. Along a street views change from one to another. Queries are of a second drive
/// by day in the other lane: of what sets a place apart as much remains as there, and the rest is
/// that of one of its pictures. The same number is the same place.
class MadePlaces {
 public:
  explicit MadePlaces(std::uint64_t seed = 1);

  int dim() const { return first_.cols(); }
  Matrix places(int first, int count) const;
  Matrix queries(const std::vector<int>& places) const;
  /// Of the street itself.
  Contrast street_contrast() const;

 private:
  std::uint64_t seed_;
  Matrix first_, second_;  // the drives
  std::vector<float> mean_;
  Matrix directions_;  // [n][dim]: pictures of the first, less the mean
  double beside_ = 0;  // deviation of one value, of what is in no other picture
  float remains_ = 0;  // in the second drive of what sets a place apart in the first
};

}  // namespace ria::bench
