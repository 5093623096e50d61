// SPDX-License-Identifier: MIT
#include "nn/eigen_symmetric.h"

#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "nn/one_thread.h"

// OpenBLAS carries LAPACK; its C header would be a package of its own.
extern "C" void dsyevr_(const char* job,
                        const char* range,
                        const char* half,
                        const int* n,
                        double* matrix,
                        const int* stride,
                        const double* low,
                        const double* high,
                        const int* first,
                        const int* last,
                        const double* tolerance,
                        int* found,
                        double* values,
                        double* vectors,
                        const int* vector_stride,
                        int* support,
                        double* work,
                        const int* work_size,
                        int* integers,
                        const int* integers_size,
                        int* status,
                        std::size_t,
                        std::size_t,
                        std::size_t);

extern "C" void dsyevd_(const char* job,
                        const char* half,
                        const int* n,
                        double* matrix,
                        const int* stride,
                        double* values,
                        double* work,
                        const int* work_size,
                        int* integers,
                        const int* integers_size,
                        int* status,
                        std::size_t,
                        std::size_t);

namespace ria {

namespace {

[[noreturn]] void not_found(int status) {
  throw std::runtime_error(fmt::format("eigenvalues were not found (LAPACK says {})", status));
}

}  // namespace

void fix_signs(EigenMatrixD& columns) {
  for (Eigen::Index j = 0; j < columns.cols(); ++j) {
    Eigen::Index largest = 0;
    columns.col(j).cwiseAbs().maxCoeff(&largest);
    if (columns(largest, j) < 0) columns.col(j) = -columns.col(j);
  }
}

SymmetricEigen eigen_symmetric(const EigenMatrixD& symmetric, int count) {
  const int n = static_cast<int>(symmetric.rows());
  if (symmetric.cols() != n || count < 1 || count > n) {
    throw std::invalid_argument(
        fmt::format("{} eigenvectors of a {}x{} matrix", count, n, symmetric.cols()));
  }
  EigenMatrixD matrix = symmetric;  // symmetric: row order is column order
  std::vector<double> values(n);
  EigenMatrixD found(count, n);  // LAPACK's columns are rows here
  std::vector<int> support(2 * static_cast<std::size_t>(count));
  const double unused = 0;
  const int first = n - count + 1;
  int filled = 0, status = 0;
  const auto solve = [&](double* work, int work_size, int* integers, int integers_size) {
    dsyevr_("V",
            "I",
            "U",
            &n,
            matrix.data(),
            &n,
            &unused,
            &unused,
            &first,
            &n,
            &unused,
            &filled,
            values.data(),
            found.data(),
            &n,
            support.data(),
            work,
            &work_size,
            integers,
            &integers_size,
            &status,
            1,
            1,
            1);
  };
  double work_size = 0;
  int integers_size = 0;
  solve(&work_size, -1, &integers_size, -1);
  std::vector<double> work(static_cast<std::size_t>(work_size));
  std::vector<int> integers(static_cast<std::size_t>(integers_size));
  solve(work.data(),
        static_cast<int>(work.size()),
        integers.data(),
        static_cast<int>(integers.size()));
  if (status != 0 || filled != count) not_found(status);
  SymmetricEigen out;
  out.values = Eigen::Map<const EigenVectorD>(values.data(), count).reverse();
  out.vectors = found.transpose().rowwise().reverse();
  fix_signs(out.vectors);
  return out;
}

SymmetricEigen eigen_symmetric(const EigenMatrixD& symmetric) {
  const OneThread one_thread;
  const int n = static_cast<int>(symmetric.rows());
  if (symmetric.cols() != n || n < 1) {
    throw std::invalid_argument(fmt::format("eigenvectors of a {}x{} matrix", n, symmetric.cols()));
  }
  EigenMatrixD found = symmetric;  // becomes the vectors, LAPACK's columns as rows
  EigenVectorD values(n);
  int status = 0;
  // The sizes LAPACK documents for this job.
  std::vector<double> work(1 + 6 * static_cast<std::size_t>(n) +
                           2 * static_cast<std::size_t>(n) * n);
  std::vector<int> integers(3 + 5 * static_cast<std::size_t>(n));
  const int work_size = static_cast<int>(work.size());
  const int integers_size = static_cast<int>(integers.size());
  dsyevd_("V",
          "U",
          &n,
          found.data(),
          &n,
          values.data(),
          work.data(),
          &work_size,
          integers.data(),
          &integers_size,
          &status,
          1,
          1);
  if (status != 0) not_found(status);
  return {values.reverse(), found.transpose().rowwise().reverse()};
}

}  // namespace ria
