// SPDX-License-Identifier: MIT
#include "pipeline/over_pictures.h"

#include "ria/backbone.h"
#include "util/parallel.h"

namespace ria {

void over_pictures(int count,
                   int num_threads,
                   const std::function<void(int)>& body,
                   std::stop_token stop) {
  const int threads = resolve_threads(num_threads);
  if (count >= threads) return parallel_for(count, threads, body, stop);
  struct AllCores {
    explicit AllCores(int cores) { set_thread_cores(cores); }
    ~AllCores() { set_thread_cores(0); }
  };
  const AllCores all(threads);
  parallel_for(count, 1, body, stop);
}

}  // namespace ria
