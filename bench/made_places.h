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

/// Descriptors vary as those of a street rendered in two drives do: the mean, the directions and
/// their variances are the street's; what the second drive has beside them is spread over all
/// directions. Along a street views change from one to another. A query is a place as another drive
/// sees it: it differs as the street's drives do. The same number is the same place.
class MadePlaces {
 public:
  explicit MadePlaces(std::uint64_t seed = 1);

  int dim() const { return street_[0].cols(); }
  Matrix places(int first, int count) const;
  Matrix queries(const std::vector<int>& places) const;
  /// Of the street itself.
  Contrast street_contrast() const;

 private:
  std::uint64_t seed_;
  Matrix street_[2];  // the drives
  std::vector<float> mean_;
  Matrix directions_;  // [n][dim]: places of the street, less the mean
  double beside_ = 0;  // variance of one value in the second drive that the first does not have
};

}  // namespace ria::bench
