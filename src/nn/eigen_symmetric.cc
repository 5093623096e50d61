// SPDX-License-Identifier: MIT
#include "nn/eigen_symmetric.h"

#include <fmt/format.h>

#include <stdexcept>
#include <vector>

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

namespace ria {

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
  if (status != 0 || filled != count) {
    throw std::runtime_error(fmt::format("eigenvalues were not found (LAPACK says {})", status));
  }
  SymmetricEigen out;
  out.values = Eigen::Map<const EigenVectorD>(values.data(), count).reverse();
  out.vectors = found.transpose().rowwise().reverse();
  fix_signs(out.vectors);
  return out;
}

}  // namespace ria
