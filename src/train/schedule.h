// SPDX-License-Identifier: MIT
// How many steps a run takes, and how large each is.
#pragma once

#include <algorithm>

#include "ria/train.h"

namespace ria {

/// As many as were asked for, or at least 4 and at least min_steps steps.
inline int epochs_of(const TrainOptions& options, int steps_per_epoch) {
  if (options.epochs > 0) return options.epochs;
  constexpr int kLeastEpochs = 4;
  const int enough = (options.min_steps + steps_per_epoch - 1) / std::max(1, steps_per_epoch);
  return std::max(kLeastEpochs, enough);
}

/// Share of the learning rates at a step (0 is the first) of so many: rises over the warm-up, then
/// falls linearly from 1 to lr_end and stays there.
inline double rate_share(const TrainOptions& options, long long step, long long steps) {
  const double warmup = options.warmup_steps;
  const double at = static_cast<double>(step);
  if (at < warmup) return (at + 1) / warmup;
  const double length =
      static_cast<double>(options.schedule_steps > 0 ? options.schedule_steps : steps) - warmup;
  const double fallen = length > 0 ? std::min(1.0, (at - warmup) / length) : 1.0;
  return 1 + fallen * (options.lr_end - 1);
}

}  // namespace ria
