// SPDX-License-Identifier: MIT
// Where MLPs begin: as the directions that keep most of what their heads hand them.
#pragma once

#include <functional>
#include <vector>

#include "ria/eigen.h"
#include "train/engine.h"
#include "train/network.h"

namespace ria {

/// The `out` principal directions, each divided by the fourth root of its moment: half whitened.
/// Plain ones leave descriptors that are all alike, because the first direction is what all
/// pictures share; whitened ones are mostly noise.
Matrix half_whitened(const EigenMatrixD& moments, int out);

/// Fits the directions of every head whose MLP is zero still, on the vectors of up to 1000 of
/// `pictures` pictures, handed over by `batch` a few at a time (each worker its share; fewer
/// than asked for where some cannot be read), and sets the engine's tensors. `meet` is told between
/// them how many are done of how many, and may throw. Second moments are not centred, and half
/// whitened. The same on all workers.
void start_mlps(TrainEngine& engine,
                const TrainWorkers& workers,
                const TrainNetwork& network,
                std::uint32_t seed,
                int pictures,
                const std::function<TrainBatch(const std::vector<int>& pictures)>& batch,
                const std::function<void(int done, int total)>& meet);

}  // namespace ria
