// SPDX-License-Identifier: MIT
// A loop over pictures spread over threads that each own one core.
#pragma once

#include <functional>
#include <stop_token>

namespace ria {

/// num_threads, or all cores of the process for 0. Throws std::invalid_argument for less.
int resolve_threads(int num_threads);

/// Cores that layers and matrix products of the calling thread may use.
int thread_cores();

/// Calls body(i) for i in [0, count), each once, in rising order of start. The first exception
/// stops the loop and is thrown here; a requested stop ends it early without one.
void parallel_for(int count,
                  int num_threads,
                  const std::function<void(int)>& body,
                  std::stop_token stop = {});

}  // namespace ria
