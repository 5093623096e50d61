// SPDX-License-Identifier: MIT
#include "ria/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "ria/eigen.h"
#include "util/random.h"

namespace ria {

namespace {

bool is_hit(const std::vector<Match>& predictions, const std::vector<int>& positives, int k) {
  const auto end = predictions.begin() + std::min<std::ptrdiff_t>(k, std::ssize(predictions));
  return std::any_of(predictions.begin(), end, [&](const Match& match) {
    return std::binary_search(positives.begin(), positives.end(), match.place);
  });
}

double percentile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double median(std::vector<float>& values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2.0;
}

/// The probability of at most `k` heads in n throws of a fair coin.
double binomial_tail(int k, int n) {
  double sum = 0;
  for (int i = 0; i <= k; ++i) {
    sum += std::exp(std::lgamma(n + 1.0) - std::lgamma(i + 1.0) - std::lgamma(n - i + 1.0) -
                    n * std::log(2.0));
  }
  return sum;
}

}  // namespace

std::vector<char> hits_at(const std::vector<std::vector<Match>>& predictions,
                          const std::vector<std::vector<int>>& positives,
                          int k) {
  std::vector<char> hits;
  for (std::size_t q = 0; q < predictions.size(); ++q) {
    hits.push_back(is_hit(predictions[q], positives.at(q), k) ? 1 : 0);
  }
  return hits;
}

void BootstrapOptions::validate() const {
  if (resamples < 1) {
    throw std::invalid_argument(fmt::format("resamples is {}, at least 1 was expected", resamples));
  }
  if (!(confidence > 0 && confidence < 1)) {
    throw std::invalid_argument(
        fmt::format("confidence is {}, a number between 0 and 1 was expected", confidence));
  }
}

Interval bootstrap_interval(const std::vector<char>& hits, const BootstrapOptions& options) {
  options.validate();
  if (hits.empty()) return {};
  SplitMix64 random(options.seed);
  const std::size_t n = hits.size();
  std::vector<double> shares(static_cast<std::size_t>(options.resamples));
  for (double& share : shares) {
    int sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += hits[random.below(n)];
    share = 100.0 * sum / static_cast<double>(n);
  }
  std::sort(shares.begin(), shares.end());
  const double tail = (1 - options.confidence) / 2;
  return {percentile(shares, tail), percentile(shares, 1 - tail)};
}

std::string PairedTest::line() const {
  return fmt::format(
      "{} only the first, {} only the second, p = {:.2g}", only_first, only_second, p_value);
}

PairedTest paired_test(const std::vector<char>& first, const std::vector<char>& second) {
  if (first.size() != second.size()) {
    throw std::invalid_argument(fmt::format(
        "{} queries of one method, {} of the other cannot be paired", first.size(), second.size()));
  }
  PairedTest test;
  for (std::size_t q = 0; q < first.size(); ++q) {
    if (first[q] && !second[q]) ++test.only_first;
    if (!first[q] && second[q]) ++test.only_second;
  }
  const int n = test.only_first + test.only_second;
  test.p_value =
      n == 0 ? 1 : std::min(1.0, 2 * binomial_tail(std::min(test.only_first, test.only_second), n));
  return test;
}

PrecisionRecall precision_recall(const std::vector<std::vector<Match>>& predictions,
                                 const std::vector<std::vector<int>>& positives) {
  struct Answer {
    float score;
    bool right;
  };
  std::vector<Answer> answers;
  int answerable = 0;
  for (std::size_t q = 0; q < predictions.size(); ++q) {
    answerable += positives.at(q).empty() ? 0 : 1;
    if (predictions[q].empty()) continue;
    answers.push_back({predictions[q][0].score, is_hit(predictions[q], positives[q], 1)});
  }
  std::stable_sort(answers.begin(), answers.end(), [](const Answer& a, const Answer& b) {
    return a.score > b.score;
  });
  PrecisionRecall out;
  int right = 0;
  double recall_before = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    right += answers[i].right ? 1 : 0;
    // Answers of one score are given together.
    if (i + 1 < answers.size() && answers[i + 1].score == answers[i].score) continue;
    const double precision = right / static_cast<double>(i + 1);
    const double recall = answerable == 0 ? 0 : right / static_cast<double>(answerable);
    out.points.push_back({answers[i].score, precision, recall});
    out.average_precision += precision * (recall - recall_before);
    if (right == static_cast<int>(i + 1)) out.recall_at_full_precision = recall;
    recall_before = recall;
  }
  return out;
}

double open_set_threshold(std::vector<float> scores) {
  if (scores.empty()) throw std::invalid_argument("no scores to take a threshold from");
  constexpr double kQuantile = 4.753424308822899;  // of the normal distribution at 1 - 1e-6
  const double middle = median(scores);
  for (float& score : scores) score = std::abs(score - static_cast<float>(middle));
  return middle + kQuantile * median(scores) / 0.675;
}

std::vector<float> sample_scores(const Matrix& queries, const Matrix& places) {
  constexpr std::int64_t kMost = 4'000'000;
  std::vector<float> scores;
  if (queries.rows() == 0 || places.rows() == 0) return scores;
  // Every query with as many places: which ones moves on from query to query.
  const std::int64_t each = std::clamp<std::int64_t>(kMost / queries.rows(), 1, places.rows());
  for (int q = 0; q < queries.rows(); ++q) {
    for (std::int64_t i = 0; i < each; ++i) {
      const auto place = static_cast<int>((i * places.rows() / each + q) % places.rows());
      scores.push_back(as_eigen(queries.row(q)).dot(as_eigen(places.row(place))));
    }
  }
  return scores;
}

}  // namespace ria
