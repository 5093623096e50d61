// SPDX-License-Identifier: MIT
// Matrices and vectors as plain memory. ria/eigen.h shows them to Eigen where they are.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace ria {

/// Rows of equal length, one behind the other.
template <typename T>
class BasicMatrix {
 public:
  BasicMatrix() = default;
  /// Every value the same.
  BasicMatrix(int rows, int cols, T value = T())
      : rows_(rows), cols_(cols), values_(count(rows, cols), value) {}
  /// Takes the values over, row by row. Throws std::invalid_argument unless they are rows * cols.
  BasicMatrix(int rows, int cols, std::vector<T> values)
      : rows_(rows), cols_(cols), values_(std::move(values)) {
    if (values_.size() != count(rows, cols)) {
      throw std::invalid_argument("the values of a matrix are not rows times columns");
    }
  }

  /// Its shape.
  int rows() const { return rows_; }
  int cols() const { return cols_; }
  std::size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }

  /// The first value of the first row.
  T* data() { return values_.data(); }
  const T* data() const { return values_.data(); }
  /// All of them, row by row.
  std::span<T> values() { return values_; }
  std::span<const T> values() const { return values_; }
  std::span<T> row(int i) { return {data() + count(i, cols_), static_cast<std::size_t>(cols_)}; }
  std::span<const T> row(int i) const {
    return {data() + count(i, cols_), static_cast<std::size_t>(cols_)};
  }
  T& operator()(int i, int j) { return values_[count(i, cols_) + static_cast<std::size_t>(j)]; }
  const T& operator()(int i, int j) const {
    return values_[count(i, cols_) + static_cast<std::size_t>(j)];
  }

  /// To another shape; the values are those that were there first, then zeros.
  void resize(int rows, int cols) {
    values_.resize(count(rows, cols));
    rows_ = rows;
    cols_ = cols;
  }

  bool operator==(const BasicMatrix&) const = default;

 private:
  static std::size_t count(int rows, int cols) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
  }

  int rows_ = 0;
  int cols_ = 0;
  std::vector<T> values_;
};

/// What crosses the library's boundary: rows of float where pictures are described, double where
/// digits decide.
using Matrix = BasicMatrix<float>;
using MatrixD = BasicMatrix<double>;
using Vector = std::vector<float>;
using VectorD = std::vector<double>;

}  // namespace ria
