// SPDX-License-Identifier: MIT
#include <omp.h>

#include "ria/backbone.h"
#include "util/parallel.h"

namespace ria {

void set_thread_cores(int cores) { omp_set_num_threads(resolve_threads(cores)); }

int num_cores() { return resolve_threads(0); }

}  // namespace ria
