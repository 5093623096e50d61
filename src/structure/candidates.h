// SPDX-License-Identifier: MIT
// Places that may be near a query, by their codes.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ria/map.h"
#include "structure/search_file.h"

namespace ria {

/// What another day leaves of what sets a place apart. (Of a rendered street seen from the other
/// lane it is 0.46.)
inline constexpr float kRemains = 0.4f;

/// A place with what its code says.
struct CodedPlace {
  /// The higher, the nearer; among a query's candidates alone. Of lists: the cosine, if the query
  /// shows this place.
  float score = 0;
  std::int32_t place = -1;
  float scale = 0;  ///< of its row
};

class Candidates {
 public:
  /// By the kind of structure that the file holds.
  static std::unique_ptr<Candidates> of(SearchFile file);
  virtual ~Candidates() = default;

  SearchFile file;

  /// Whether a place may be an answer; asked from several threads at once.
  using Allowed = std::function<bool(int place)>;
  /// The `wanted` most promising places, of rising number, found as the measure says; with more
  /// work where that finds fewer. The same for any number of threads.
  virtual std::vector<CodedPlace> find(std::span<const float> query,
                                       int wanted,
                                       const Allowed& allowed) const = 0;

  /// Mean and standard deviation of the cosines with all places, as far as the sample told.
  std::pair<double, double> spread(std::span<const float> query) const;

  /// P x, where x has dim values.
  std::vector<float> project(std::span<const float> x) const;

 protected:
  explicit Candidates(SearchFile file);
  /// P (x - mean), of what project() gave.
  std::vector<float> from_mean(std::span<const float> projected) const;

 private:
  AlignedBuffer<float> projection_;
  std::vector<float> projected_mean_;
};

std::unique_ptr<Candidates> list_candidates(SearchFile file);
std::unique_ptr<Candidates> graph_candidates(SearchFile file);

/// Of aligned rows of whole lines with x, which ends with zeros then.
std::vector<float> row_products(const float* rows, int count, std::span<const float> x, int values);

}  // namespace ria
