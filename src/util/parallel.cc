// SPDX-License-Identifier: MIT
#include "util/parallel.h"

#include <fmt/format.h>
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace ria {

int resolve_threads(int num_threads) {
  if (num_threads < 0) {
    throw std::invalid_argument(
        fmt::format("num_threads is {}, 0 (all) or more was expected", num_threads));
  }
  if (num_threads > 0) return num_threads;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

int thread_cores() { return omp_get_max_threads(); }

void parallel_for(int count,
                  int num_threads,
                  const std::function<void(int)>& body,
                  std::stop_token stop) {
  std::atomic<int> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr first_error;
  std::mutex error_mutex;
  const auto work = [&] {
    while (!failed && !stop.stop_requested()) {
      const int i = next++;
      if (i >= count) return;
      try {
        body(i);
      } catch (...) {
        const std::lock_guard lock(error_mutex);
        if (!failed.exchange(true)) first_error = std::current_exception();
      }
    }
  };
  const int workers = std::min(resolve_threads(num_threads), count);
  if (workers <= 1) {
    work();
  } else {
    std::vector<std::jthread> threads;
    for (int t = 0; t < workers; ++t) {
      threads.emplace_back([&work] {
        omp_set_num_threads(1);  // layers and matrix products inside use this thread only
        work();
      });
    }
  }
  if (first_error) std::rethrow_exception(first_error);
}

}  // namespace ria
