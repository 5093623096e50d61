// SPDX-License-Identifier: MIT
#include "nn/gemm.h"

#include <cblas.h>

#include <algorithm>
#include <vector>

#include "nn/one_thread.h"

namespace ria {

namespace {

// BLAS on several threads splits its work by their number, and with it the order of its sums. Here
// the split is fixed and each part is one thread's, so that the same picture gives the same bits
// however many cores work on it.
constexpr int kBlock = 256;  // rows

// Cloned for wider vectors because every value of the features passes through it.
__attribute__((target_clones("avx512f", "arch=haswell", "default"))) float square_sum(
    const float* x, Eigen::Index n) {
  constexpr int kLanes = 32;
  float lanes[kLanes] = {};
  Eigen::Index i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int j = 0; j < kLanes; ++j) lanes[j] += x[i + j] * x[i + j];
  }
  float sum = 0;
  for (; i < n; ++i) sum += x[i] * x[i];
  for (float lane : lanes) sum += lane;
  return sum;
}

}  // namespace

EigenMatrix product(const MatrixView& a, const MatrixView& b) {
  EigenMatrix c(a.rows(), b.cols());
  if (c.size() == 0) return c;
  const int rows = static_cast<int>(a.rows()), columns = static_cast<int>(b.cols());
  const int inner = static_cast<int>(a.cols());
#pragma omp parallel for schedule(static)
  for (int begin = 0; begin < rows; begin += kBlock) {
    const OneThread one_thread;
    cblas_sgemm(CblasRowMajor,
                CblasNoTrans,
                CblasNoTrans,
                std::min(kBlock, rows - begin),
                columns,
                inner,
                1.0f,
                a.row(begin).data(),
                static_cast<int>(a.outerStride()),
                b.data(),
                static_cast<int>(b.outerStride()),
                0.0f,
                c.row(begin).data(),
                columns);
  }
  return c;
}

EigenMatrixD product(const MatrixViewD& a, const MatrixViewD& b) {
  EigenMatrixD c(a.rows(), b.cols());
  if (c.size() > 0) multiply(a, b, c);
  return c;
}

void multiply(const MatrixViewD& a, const MatrixViewD& b, EigenMatrixD& c) {
  const OneThread one_thread;
  cblas_dgemm(CblasRowMajor,
              CblasNoTrans,
              CblasNoTrans,
              static_cast<int>(a.rows()),
              static_cast<int>(b.cols()),
              static_cast<int>(a.cols()),
              1.0,
              a.data(),
              static_cast<int>(a.outerStride()),
              b.data(),
              static_cast<int>(b.outerStride()),
              0.0,
              c.data(),
              static_cast<int>(b.cols()));
}

// On one core whatever the caller may use: a threaded dsyrk sums in an order that depends on the
// number of threads, and the same picture must give the same bits on any.
EigenMatrixD gram(const MatrixViewD& x) {
  const int rows = static_cast<int>(x.rows()), d = static_cast<int>(x.cols());
  std::vector<EigenMatrixD> parts((rows + kBlock - 1) / kBlock, EigenMatrixD::Zero(d, d));
#pragma omp parallel for schedule(static)
  for (int p = 0; p < static_cast<int>(parts.size()); ++p) {
    const OneThread one_thread;
    cblas_dsyrk(CblasRowMajor,
                CblasUpper,
                CblasTrans,
                d,
                std::min(kBlock, rows - p * kBlock),
                1.0,
                x.row(p * kBlock).data(),
                static_cast<int>(x.outerStride()),
                0.0,
                parts[p].data(),
                d);
  }
  EigenMatrixD c = EigenMatrixD::Zero(d, d);
  for (const EigenMatrixD& part : parts) c += part;
  c.triangularView<Eigen::StrictlyLower>() = c.transpose();
  return c;
}

EigenVector row_square_sums(const MatrixView& x) {
  EigenVector sums(x.rows());
#pragma omp parallel for schedule(static)
  for (Eigen::Index i = 0; i < x.rows(); ++i) sums[i] = square_sum(x.row(i).data(), x.cols());
  return sums;
}

}  // namespace ria
