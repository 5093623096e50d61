// SPDX-License-Identifier: MIT
// For callers who calculate with Eigen: matrices and vectors seen as Eigen's, without a copy.
// Nothing here is part of the library, no other header includes it, and Eigen may be compiled with
// any flags.
#pragma once

#include <Eigen/Core>
#include <span>
#include <type_traits>
#include <vector>

#include "ria/matrix.h"

namespace ria {

/// What BasicMatrix is to Eigen: rows one behind the other.
template <typename T>
using BasicEigenMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// What a vector is to Eigen: a column.
template <typename T>
using BasicEigenVector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

/// What Matrix, MatrixD, Vector and VectorD are to Eigen.
using EigenMatrix = BasicEigenMatrix<float>;
using EigenMatrixD = BasicEigenMatrix<double>;
using EigenVector = BasicEigenVector<float>;
using EigenVectorD = BasicEigenVector<double>;

/// A view of the values, which must outlive it; a temporary is copied instead.
template <typename T>
Eigen::Map<BasicEigenMatrix<T>> as_eigen(BasicMatrix<T>& m) {
  return {m.data(), m.rows(), m.cols()};
}
template <typename T>
Eigen::Map<const BasicEigenMatrix<T>> as_eigen(const BasicMatrix<T>& m) {
  return {m.data(), m.rows(), m.cols()};
}
template <typename T>
BasicEigenMatrix<T> as_eigen(BasicMatrix<T>&& m) {
  return as_eigen(m);
}

/// The same of vectors, as columns.
template <typename T>
Eigen::Map<BasicEigenVector<T>> as_eigen(std::vector<T>& v) {
  return {v.data(), static_cast<Eigen::Index>(v.size())};
}
template <typename T>
Eigen::Map<const BasicEigenVector<T>> as_eigen(const std::vector<T>& v) {
  return {v.data(), static_cast<Eigen::Index>(v.size())};
}
template <typename T>
BasicEigenVector<T> as_eigen(std::vector<T>&& v) {
  return as_eigen(v);
}

/// The same of a row of a matrix or any other values, as a column.
template <typename T>
auto as_eigen(std::span<T> v) {
  using Column = BasicEigenVector<std::remove_const_t<T>>;
  using Seen = std::conditional_t<std::is_const_v<T>, const Column, Column>;
  return Eigen::Map<Seen>(v.data(), static_cast<Eigen::Index>(v.size()));
}

/// What an expression of Eigen's comes to, as a Matrix or MatrixD.
template <typename Expression>
auto to_matrix(const Eigen::DenseBase<Expression>& expression) {
  BasicMatrix<typename Expression::Scalar> m(static_cast<int>(expression.rows()),
                                             static_cast<int>(expression.cols()));
  as_eigen(m).noalias() = expression.derived().matrix();
  return m;
}

/// The same as a Vector or VectorD, of an expression of one row or one column.
template <typename Expression>
auto to_vector(const Eigen::DenseBase<Expression>& expression) {
  std::vector<typename Expression::Scalar> v(static_cast<std::size_t>(expression.size()));
  if constexpr (Expression::RowsAtCompileTime == 1) {
    as_eigen(v).noalias() = expression.derived().matrix().transpose();
  } else {
    as_eigen(v).noalias() = expression.derived().matrix();
  }
  return v;
}

}  // namespace ria
