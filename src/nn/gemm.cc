// SPDX-License-Identifier: MIT
#include "nn/gemm.h"

#include <cblas.h>
#include <dnnl.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "nn/one_thread.h"
#include "nn/signals_wait.h"

namespace ria {

namespace {

// A product on several threads splits its work by their number, and with it the order of its sums.
// Here the split is fixed and each part is one thread's, so that the same picture gives the same
// bits however many cores work on it.
constexpr Eigen::Index kBlock = 256;  // rows

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
#pragma omp parallel for schedule(static)
  for (Eigen::Index begin = 0; begin < a.rows(); begin += kBlock) {
    const Eigen::Index rows = std::min(kBlock, a.rows() - begin);
    multiply(a.middleRows(begin, rows), b, 0, c.middleRows(begin, rows));
  }
  return c;
}

// oneDNN writes its loops for the CPU it finds; Debian's OpenBLAS knows no AMD processor with
// AVX-512.
void multiply(const MatrixView& a, const MatrixView& b, float keep, MatrixSpan c) {
  if (a.cols() == 0) {
    c *= keep;
    return;
  }
  const OneThread one_thread;
  const SignalsWait signals_wait;
  const dnnl_status_t status = dnnl_sgemm('N',
                                          'N',
                                          a.rows(),
                                          b.cols(),
                                          a.cols(),
                                          1.0f,
                                          a.data(),
                                          a.outerStride(),
                                          b.data(),
                                          b.outerStride(),
                                          keep,
                                          c.data(),
                                          c.outerStride());
  if (status != dnnl_success) throw std::runtime_error("oneDNN could not multiply two matrices");
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
  const auto d = static_cast<int>(x.cols());
  std::vector<EigenMatrixD> parts((x.rows() + kBlock - 1) / kBlock, EigenMatrixD::Zero(d, d));
#pragma omp parallel for schedule(static)
  for (int p = 0; p < static_cast<int>(parts.size()); ++p) {
    const OneThread one_thread;
    cblas_dsyrk(CblasRowMajor,
                CblasUpper,
                CblasTrans,
                d,
                static_cast<int>(std::min(kBlock, x.rows() - p * kBlock)),
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
