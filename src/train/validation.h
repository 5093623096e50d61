// SPDX-License-Identifier: MIT
// How often the model as it is finds the right place.
#pragma once

#include <functional>

#include "ria/dataset.h"
#include "train/checkpoint.h"
#include "train/engine.h"
#include "train/inputs.h"

namespace ria {

/// Describes the pictures of all workers together, each a share, and searches. All workers must
/// call it at once. A picture that cannot be read is never found and finds nothing. `between` is
/// called between pictures and may throw.
ModelRecall validate_model(TrainEngine& engine,
                           const TrainWorkers& workers,
                           int dim,
                           const Dataset& dataset,
                           TrainInputs& inputs,
                           const std::function<void(int done, int of)>& between);

}  // namespace ria
