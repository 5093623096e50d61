// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "ria/method.h"

namespace ria {

/// Aggregator of a network that gives the descriptor itself.
constexpr char kAsItIs[] = "as_it_is";

/// Every backbone with every aggregator that needs no training.
std::vector<Method> pairing_rows();

/// What methods() lists.
std::vector<Method> listed_rows();

/// Rows that are found but not listed: the other lengths of listed systems, and names that other
/// tools have for a choice of options.
std::vector<Method> further_rows();

/// Part of listed_rows(): systems whose backbone and head were trained together.
void add_systems(std::vector<Method>& rows);

/// An exact size in pixels and how pictures are brought to it.
MethodOptions exact_size(int height, int width, const char* resize);
/// Pictures as they are; `cut` of a convolutional backbone.
MethodOptions native(const char* cut = "");

}  // namespace ria
