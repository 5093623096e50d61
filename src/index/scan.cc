// SPDX-License-Identifier: MIT
#include "index/scan.h"

#include <algorithm>
#include <exception>

#include "index/best.h"

namespace ria {

namespace {

// So many bytes of rows and so many queries share a core's cache.
constexpr std::size_t kStripBytes = 256 << 10;
constexpr int kMostStripRows = 64;
constexpr int kQueryGroup = 32;
constexpr double kWorthThreads = 1 << 20;  // products

/// Rows of one piece that one thread takes at a time.
struct Strip {
  const Rows::Piece* piece;
  int first, count;
  int before;  ///< rows of all strips before
};

std::vector<Strip> strips_of(const Rows& rows, int before) {
  std::vector<Strip> strips;
  int rows_before = 0;
  const int step = static_cast<int>(
      std::clamp<std::size_t>(kStripBytes / rows.form().row_bytes(), 4, kMostStripRows));
  for (const Rows::Piece& piece : rows.pieces()) {
    const auto end =
        static_cast<int>(std::ranges::lower_bound(piece.places, before) - piece.places.begin());
    for (int first = 0; first < end; first += step) {
      strips.push_back({&piece, first, std::min(step, end - first), rows_before});
      rows_before += strips.back().count;
    }
  }
  return strips;
}

/// Scores of rows and queries, a strip after the other.
class Scan {
 public:
  Scan(const Rows& rows, const Matrix& queries, int before, const ScanKernels& kernels)
      : form_(rows.form()),
        queries_(queries, form_),
        count_(queries.rows()),
        strips_(strips_of(rows, before)),
        function_(scan_function(kernels, form_.storage)) {}

  int strips() const { return static_cast<int>(strips_.size()); }
  int rows_before(int strip) const { return strips_[static_cast<std::size_t>(strip)].before; }
  bool worth_threads() const {
    double rows = 0;
    for (const Strip& strip : strips_) rows += strip.count;
    return rows * form_.dim * count_ > kWorthThreads;
  }

  /// visit(query, match) for all of a strip.
  template <typename Visit>
  void run(int index, std::vector<float>& scores, Visit visit) const {
    const Strip& strip = strips_[static_cast<std::size_t>(index)];
    const std::uint8_t* data =
        strip.piece->data.data() + static_cast<std::size_t>(strip.first) * form_.row_bytes();
    scores.resize(static_cast<std::size_t>(kQueryGroup) * kMostStripRows);
    for (int first = 0; first < count_; first += kQueryGroup) {
      const int some = std::min(kQueryGroup, count_ - first);
      function_({data, strip.count, queries_.at(first), some, form_.values(), scores.data()});
      for (int q = 0; q < some; ++q) {
        const float* of_query = scores.data() + q * strip.count;
        const float query_scale = queries_.scales[first + q];
        for (int i = 0; i < strip.count; ++i) {
          const int at = strip.first + i;
          visit(
              first + q,
              Match{strip.piece->places[at], of_query[i] * strip.piece->scales[at] * query_scale});
        }
      }
    }
  }

 private:
  const RowForm& form_;
  EncodedQueries queries_;
  int count_;
  std::vector<Strip> strips_;
  ScanFunction function_;
};

}  // namespace

std::vector<std::vector<Match>> scan_nearest(const Rows& rows,
                                             const Matrix& queries,
                                             int k,
                                             const SearchOptions& options,
                                             const ScanKernels& kernels) {
  const Scan scan(rows, queries, options.before, kernels);
  const std::vector<Best> none(static_cast<std::size_t>(queries.rows()),
                               Best(static_cast<std::size_t>(k)));
  std::vector<Best> best = none;
  std::exception_ptr error;  // no exception may leave a thread
#pragma omp parallel if (scan.worth_threads())
  {
    std::vector<Best> own = none;
    std::vector<float> scores;
#pragma omp for schedule(static)
    for (int s = 0; s < scan.strips(); ++s) {
      try {
        scan.run(
            s, scores, [&](int query, const Match& match) { own[query].show(match, options); });
      } catch (...) {
#pragma omp critical(ria_scan)
        error = std::current_exception();
      }
    }
#pragma omp critical(ria_scan)
    for (std::size_t q = 0; q < own.size(); ++q) best[q].show_all(own[q]);
  }
  if (error) std::rethrow_exception(error);
  std::vector<std::vector<Match>> matches;
  for (Best& one : best) matches.push_back(std::move(one).sorted());
  return matches;
}

std::vector<Match> scan_all(const Rows& rows, const Matrix& query, const ScanKernels& kernels) {
  const Scan scan(rows, query, std::numeric_limits<int>::max(), kernels);
  std::vector<Match> all(static_cast<std::size_t>(rows.size()));
#pragma omp parallel if (scan.worth_threads())
  {
    std::vector<float> scores;
#pragma omp for schedule(static)
    for (int s = 0; s < scan.strips(); ++s) {
      Match* to = all.data() + scan.rows_before(s);
      scan.run(s, scores, [&](int, const Match& match) { *to++ = match; });
    }
  }
  return all;
}

}  // namespace ria
