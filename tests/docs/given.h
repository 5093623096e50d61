// SPDX-License-Identifier: MIT
// What the pieces of C++ on the documentation's pages take as given.
#pragma once

#include <ria/ria.h>

#include <cstdio>
#include <optional>

/// A camera's picture and where it was.
extern const ria::Image frame;
extern const std::optional<ria::Pose> pose;

/// A pose graph of the reader's own.
struct PoseGraph {
  void add_edge(int from, int to, double weight);
};
extern PoseGraph graph;

/// Of main().
extern char** argv;
