// SPDX-License-Identifier: MIT
#include "nn/row_blocks.h"

#include <cblas.h>

#include <algorithm>
#include <exception>
#include <vector>

#include "nn/one_thread.h"

namespace ria {

namespace {

constexpr Eigen::Index kDotRows = 64;
constexpr Eigen::Index kSumRows = 1024;

/// y = w x or w^T x for some rows of w.
void gemv(CBLAS_TRANSPOSE turned,
          const MatrixView& w,
          Eigen::Index first,
          Eigen::Index count,
          const float* x,
          float* y) {
  const int columns = static_cast<int>(w.cols());
  cblas_sgemv(CblasRowMajor,
              turned,
              static_cast<int>(count),
              columns,
              1.0f,
              w.row(first).data(),
              static_cast<int>(w.outerStride()),
              x,
              1,
              0.0f,
              y,
              1);
}

}  // namespace

void for_row_blocks(Eigen::Index rows,
                    Eigen::Index block,
                    const std::function<void(Eigen::Index first, Eigen::Index count)>& body) {
  std::exception_ptr failure;
#pragma omp parallel for schedule(dynamic, 1)
  for (Eigen::Index first = 0; first < rows; first += block) {
    const OneThread one_thread;
    try {
      body(first, std::min(block, rows - first));
    } catch (...) {
#pragma omp critical(ria_row_blocks)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

EigenVector times_vector(const MatrixView& w, const EigenVector& x) {
  EigenVector y(w.rows());
  for_row_blocks(w.rows(), kDotRows, [&](Eigen::Index first, Eigen::Index count) {
    gemv(CblasNoTrans, w, first, count, x.data(), y.data() + first);
  });
  return y;
}

EigenVector transposed_times_vector(const MatrixView& w, const EigenVector& x) {
  EigenMatrix parts((w.rows() + kSumRows - 1) / kSumRows, w.cols());
  for_row_blocks(w.rows(), kSumRows, [&](Eigen::Index first, Eigen::Index count) {
    gemv(CblasTrans, w, first, count, x.data() + first, parts.row(first / kSumRows).data());
  });
  return parts.colwise().sum();
}

}  // namespace ria
