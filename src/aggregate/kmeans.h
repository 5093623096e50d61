// SPDX-License-Identifier: MIT
// Cosine k-means as vocabularies of VLAD are made with: a row belongs to the centre of the largest
// cosine, a centre is the plain mean of its rows (not brought to length one), a centre without rows
// becomes zero.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "ria/eigen.h"

namespace ria {

/// Rows that need not lie in one matrix. read() is called from many threads.
class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual std::int64_t rows() const = 0;
  virtual int dim() const = 0;
  /// Fills `out` with the rows from `begin` on.
  virtual void read(std::int64_t begin, Matrix& out) const = 0;
};

/// The rows of one matrix, which must outlive this.
class MatrixRows final : public RowSource {
 public:
  explicit MatrixRows(const Matrix& rows) : rows_(rows) {}
  std::int64_t rows() const override { return rows_.rows(); }
  int dim() const override { return rows_.cols(); }
  void read(std::int64_t begin, Matrix& out) const override {
    as_eigen(out) = as_eigen(rows_).middleRows(begin, out.rows());
  }

 private:
  const Matrix& rows_;
};

struct KMeansOptions {
  int max_iterations = 100;
  double tolerance = 1e-4;  ///< ends when the squared moves of all centres add up to this or less
  int num_threads = 0;      ///< 0: all cores; the result is the same bits for any number
  /// Told after every iteration: how many there were, and the squared moves of the last.
  std::function<void(int iterations, double moved)> progress;
  std::stop_token stop;  ///< asked between rows; the centres are then those of the last iteration
};

struct KMeans {
  Matrix centres;                    ///< K x D
  std::vector<std::int64_t> counts;  ///< rows of each centre in the last assignment
  int iterations = 0;
  double moved = 0;        ///< squared moves of all centres in the last iteration
  double mean_cosine = 0;  ///< of the rows to their centres, in the last assignment
  bool converged = false;
};

/// `count` different rows, chosen by the seed. Throws std::invalid_argument if there are fewer.
Matrix choose_rows(const RowSource& rows, int count, std::uint32_t seed);

KMeans cosine_kmeans(const RowSource& rows, Matrix start, const KMeansOptions& options = {});

/// Bytes that cosine_kmeans() holds beside the rows, on any number of threads.
std::uint64_t kmeans_bytes(int clusters, int dim);

/// The centres at length one, as columns: rows times this are cosines, but for the rows' lengths.
EigenMatrix cosine_directions(const Matrix& centres);

/// The column of the largest value, the first of equal ones.
Eigen::Index largest(const float* values, Eigen::Index count);

}  // namespace ria
