// SPDX-License-Identifier: MIT
#include "aggregate/kmeans.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "aggregate/features.h"
#include "nn/gemm.h"
#include "util/parallel.h"
#include "util/random.h"

namespace ria {

namespace {

constexpr std::int64_t kBlock = 256;  // rows that are read and compared at once
constexpr std::uint64_t kMostStripes = 16;
constexpr std::uint64_t kStripeBytes = 128u << 20;

/// The rows are cut into so many parts, each summed in its order and then all in theirs: the order
/// of the sums, and with it every bit, does not depend on the number of threads.
int stripes(std::int64_t clusters, std::int64_t dim) {
  const auto sums = static_cast<std::uint64_t>(clusters * dim) * sizeof(double);
  return static_cast<int>(
      std::clamp<std::uint64_t>(kStripeBytes / std::max<std::uint64_t>(sums, 1), 1, kMostStripes));
}

/// What a part of the rows adds to its centres.
struct Sums {
  EigenMatrixD rows;
  std::vector<std::int64_t> counts;
  double cosines = 0;

  Sums(int clusters, int dim)
      : rows(EigenMatrixD::Zero(clusters, dim)), counts(static_cast<std::size_t>(clusters), 0) {}

  void add(const MatrixView& block, const EigenMatrix& directions) {
    const EigenMatrix scores = product(block, directions);
    const EigenVector scale = inverse_norms(row_square_sums(block));
    for (Eigen::Index i = 0; i < block.rows(); ++i) {
      const Eigen::Index best = largest(scores.row(i).data(), scores.cols());
      rows.row(best) += block.row(i).cast<double>();
      ++counts[static_cast<std::size_t>(best)];
      cosines += double{scores(i, best)} * scale[i];
    }
  }

  void add(const Sums& other) {
    rows += other.rows;
    for (std::size_t k = 0; k < counts.size(); ++k) counts[k] += other.counts[k];
    cosines += other.cosines;
  }
};

/// One pass over all rows; not complete where a stop was requested.
Sums assign(const RowSource& rows, const Matrix& centres, const KMeansOptions& options) {
  const EigenMatrix directions = cosine_directions(centres);
  const int parts = stripes(centres.rows(), centres.cols());
  const std::int64_t blocks = (rows.rows() + kBlock - 1) / kBlock;
  std::vector<Sums> sums(static_cast<std::size_t>(parts), Sums(centres.rows(), centres.cols()));
  const auto sum_stripe = [&](int s) {
    Matrix block;
    for (std::int64_t b = s * blocks / parts; b < (s + 1) * blocks / parts; ++b) {
      if (options.stop.stop_requested()) return;
      block.resize(static_cast<int>(std::min(kBlock, rows.rows() - b * kBlock)), centres.cols());
      rows.read(b * kBlock, block);
      sums[static_cast<std::size_t>(s)].add(as_eigen(block), directions);
    }
  };
  parallel_for(parts, resolve_threads(options.num_threads), sum_stripe, options.stop);
  for (int s = 1; s < parts; ++s) sums[0].add(sums[static_cast<std::size_t>(s)]);
  return std::move(sums[0]);
}

Matrix means(const Sums& sums) {
  Matrix centres(static_cast<int>(sums.rows.rows()), static_cast<int>(sums.rows.cols()));
  for (int k = 0; k < centres.rows(); ++k) {
    const auto count = static_cast<double>(sums.counts[static_cast<std::size_t>(k)]);
    if (count > 0) as_eigen(centres).row(k) = (sums.rows.row(k) / count).cast<float>();
  }
  return centres;
}

}  // namespace

Matrix choose_rows(const RowSource& rows, int count, std::uint32_t seed) {
  if (count < 1 || count > rows.rows()) {
    throw std::invalid_argument(fmt::format(
        "clusters is {}, from 1 to the number of patches, {}, was expected", count, rows.rows()));
  }
  SplitMix64 random(seed);
  std::set<std::uint64_t> taken;
  Matrix chosen(count, rows.dim()), row(1, rows.dim());
  for (int k = 0; k < count; ++k) {
    std::uint64_t drawn = 0;
    do {
      drawn = random.below(static_cast<std::uint64_t>(rows.rows()));
    } while (!taken.insert(drawn).second);
    rows.read(static_cast<std::int64_t>(drawn), row);
    std::ranges::copy(row.values(), chosen.row(k).begin());
  }
  return chosen;
}

KMeans cosine_kmeans(const RowSource& rows, Matrix start, const KMeansOptions& options) {
  if (start.rows() == 0 || start.cols() != rows.dim()) {
    throw std::invalid_argument(
        fmt::format("k-means starts from {} centres of {} values, at least "
                    "1 of {} was expected",
                    start.rows(),
                    start.cols(),
                    rows.dim()));
  }
  KMeans result;
  result.centres = std::move(start);
  while (result.iterations < options.max_iterations && !result.converged) {
    const Sums sums = assign(rows, result.centres, options);
    if (options.stop.stop_requested()) break;
    Matrix next = means(sums);
    result.moved =
        (as_eigen(next).cast<double>() - as_eigen(result.centres).cast<double>()).squaredNorm();
    result.centres = std::move(next);
    result.counts = sums.counts;
    result.mean_cosine = rows.rows() > 0 ? sums.cosines / static_cast<double>(rows.rows()) : 0;
    result.converged = result.moved <= options.tolerance;
    ++result.iterations;
    if (options.progress) options.progress(result.iterations, result.moved);
  }
  return result;
}

std::uint64_t kmeans_bytes(int clusters, int dim) {
  const auto k = static_cast<std::uint64_t>(clusters), d = static_cast<std::uint64_t>(dim);
  const std::uint64_t block = kBlock * (d + k + 2) * sizeof(float);
  const std::uint64_t sums = k * (d + 1) * sizeof(double);
  // A stripe has its sums and at most one thread; centres, their directions and the next ones.
  return static_cast<std::uint64_t>(stripes(clusters, dim)) * (block + sums) +
         4 * k * d * sizeof(double);
}

EigenMatrix cosine_directions(const Matrix& centres) {
  return normalized_rows(as_eigen(centres)).transpose();
}

Eigen::Index largest(const float* values, Eigen::Index count) {
  return std::max_element(values, values + count) - values;
}

}  // namespace ria
