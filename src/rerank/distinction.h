// SPDX-License-Identifier: MIT
// What sets a place apart from others that a query was compared with.
#pragma once

#include <vector>

#include "ria/rerank.h"

namespace ria {

/// The mean of likenesses cell by cell; empty where nothing is known so, or of different grids.
std::vector<float> usual_likeness(const std::vector<const Likeness*>& likenesses);

/// How far the cells of the query are more alike to a place than `usual`, to the power 1.5, so that
/// many faint likenesses do not outweigh a few clear ones; the mean over the cells, together with
/// the share of patches that agree. What is usual, as road and sky, counts for none.
double distinction(const Likeness& place, const std::vector<float>& usual);

/// What makes scores of distinctions: times this the largest is the score that its place had
/// before. 0: nothing sets any of them apart.
double distinction_unit(const std::vector<double>& distinct, const std::vector<double>& scores);

}  // namespace ria
