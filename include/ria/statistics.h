// SPDX-License-Identifier: MIT
// How sure a recall is, whether two methods differ, and when an answer is to be trusted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ria/api.h"
#include "ria/features.h"
#include "ria/map.h"

namespace ria {

/// For each query, whether a positive is among its first k predictions.
RIA_API std::vector<char> hits_at(const std::vector<std::vector<Match>>& predictions,
                                  const std::vector<std::vector<int>>& positives,
                                  int k);

/// Bounds in percent.
struct Interval {
  double low = 0;
  double high = 0;
};

/// How an interval is estimated.
struct RIA_API BootstrapOptions {
  int resamples = 10000;
  double confidence = 0.95;
  std::uint64_t seed = 42;

  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// Percentile bootstrap of the share of hits, resampling queries.
RIA_API Interval bootstrap_interval(const std::vector<char>& hits,
                                    const BootstrapOptions& options = {});

/// McNemar's exact test: are the queries that only one of two methods answers split evenly?
struct RIA_API PairedTest {
  int only_first = 0;   ///< queries that only the first method answers
  int only_second = 0;  ///< queries that only the second does
  double p_value = 1;   ///< two-sided, binomial

  /// Whether chance alone would rarely do it.
  bool significant(double level = 0.05) const { return p_value < level; }
  /// "12 only the first, 3 only the second, p = 0.035"
  std::string line() const;
};
/// Throws std::invalid_argument unless both have the same number of queries.
RIA_API PairedTest paired_test(const std::vector<char>& first, const std::vector<char>& second);

/// One step of the curve: what is answered at this threshold or above.
struct PrecisionRecallPoint {
  double threshold = 0;
  double precision = 0;  ///< 0..1, of the answers given
  double recall = 0;     ///< 0..1, of the queries that have a positive
};

/// Each query answers with its best match or, below the threshold, not at all.
struct PrecisionRecall {
  std::vector<PrecisionRecallPoint> points;  ///< by falling threshold
  double average_precision = 0;              ///< area below the curve, 0..1
  double recall_at_full_precision = 0;       ///< largest recall without a wrong answer
};
RIA_API PrecisionRecall precision_recall(const std::vector<std::vector<Match>>& predictions,
                                         const std::vector<std::vector<int>>& positives);

/// A score that answers of unknown places hardly reach, from the scores themselves: median plus
/// 4.75 robust deviations (median absolute deviation / 0.675), the quantile 1 - 1e-6 of a normal
/// distribution. `scores` are those of all queries with all places, or a fair sample.
RIA_API double open_set_threshold(std::vector<float> scores);

/// Cosines of queries and places, one of several million pairs at most: evenly spread.
RIA_API std::vector<float> sample_scores(const Matrix& queries, const Matrix& places);

}  // namespace ria
