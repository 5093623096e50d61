// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <stop_token>

namespace ria {

/// parallel_for() over pictures, one core each; where there are too few to give each core its own,
/// all cores work on one picture after the other. 0 threads: all cores.
void over_pictures(int count,
                   int num_threads,
                   const std::function<void(int)>& body,
                   std::stop_token stop = {});

}  // namespace ria
