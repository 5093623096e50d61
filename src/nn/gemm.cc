// SPDX-License-Identifier: MIT
#include "nn/gemm.h"

#include <cblas.h>
#include <omp.h>

#include <algorithm>

namespace ria {

namespace {

class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace

// BLAS on several threads splits its work by their number, and with it the order of its sums. Here
// the split is fixed and each part is one thread's, so that the same picture gives the same bits on
// any machine load: large products in blocks of rows, small ones whole.
Matrix product(const Matrix& a, const Matrix& b) {
  constexpr int kBlock = 256;
  Matrix c(a.rows(), b.cols());
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
                inner,
                b.data(),
                columns,
                0.0f,
                c.row(begin).data(),
                columns);
  }
  return c;
}

MatrixD product(const MatrixD& a, const MatrixD& b) {
  MatrixD c(a.rows(), b.cols());
  if (c.size() > 0) multiply(a, b, c);
  return c;
}

void multiply(const MatrixD& a, const MatrixD& b, MatrixD& c) {
  const OneThread one_thread;
  cblas_dgemm(CblasRowMajor,
              CblasNoTrans,
              CblasNoTrans,
              static_cast<int>(a.rows()),
              static_cast<int>(b.cols()),
              static_cast<int>(a.cols()),
              1.0,
              a.data(),
              static_cast<int>(a.cols()),
              b.data(),
              static_cast<int>(b.cols()),
              0.0,
              c.data(),
              static_cast<int>(b.cols()));
}

// On one core whatever the caller may use: a threaded dsyrk sums in an order that depends on the
// number of threads, and the same picture must give the same bits on any.
MatrixD gram(const MatrixD& x) {
  const OneThread one_thread;
  const int d = static_cast<int>(x.cols());
  MatrixD c = MatrixD::Zero(d, d);
  if (x.rows() > 0 && d > 0) {
    cblas_dsyrk(CblasRowMajor,
                CblasUpper,
                CblasTrans,
                d,
                static_cast<int>(x.rows()),
                1.0,
                x.data(),
                d,
                0.0,
                c.data(),
                d);
  }
  c.triangularView<Eigen::StrictlyLower>() = c.transpose();
  return c;
}

}  // namespace ria
