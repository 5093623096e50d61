// SPDX-License-Identifier: MIT
#pragma once

#include <omp.h>

namespace ria {

/// Keeps BLAS on the calling thread's core while it lives: on several threads it splits its work by
/// their number, and with it the order of its sums.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace ria
