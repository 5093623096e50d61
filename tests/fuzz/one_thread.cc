// SPDX-License-Identifier: MIT
// util/parallel.h without OpenMP, which not every clang has: one thread does it all.
#include "util/parallel.h"

namespace ria {

int resolve_threads(int) { return 1; }

void parallel_for(int count, int, const std::function<void(int)>& body, std::stop_token stop) {
  for (int i = 0; i < count && !stop.stop_requested(); ++i) body(i);
}

}  // namespace ria
