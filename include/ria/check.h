// SPDX-License-Identifier: MIT
// Whether every method of the table works, without its weights.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "ria/api.h"

namespace ria {

/// What a method makes of a made-up picture with made-up weights of its shapes.
struct RIA_API MethodCheck {
  std::string method;
  int dim = 0;           ///< of the descriptor
  int expected_dim = 0;  ///< that the table states
  bool finite = false;
  double norm = 0;               ///< of the descriptor
  bool same_bits = false;        ///< when described twice
  double backbone_seconds = 0;   ///< of the faster of the rounds, all cores
  double aggregate_seconds = 0;  ///< likewise
  std::string error;             ///< why it could not be run; empty: it was

  bool good() const;  ///< it ran, and all of this is as it should be
};

/// What check_methods() runs the methods on.
struct RIA_API CheckOptions {
  int side = 0;  ///< pixels of the square picture a method without a size of its own reads; 0: 224
  bool all_alike = false;  ///< that size for those with their own too
  int rounds = 2;
  std::function<void(const MethodCheck&)> progress;  ///< told after every method
  std::stop_token stop;

  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// Runs the methods of these names, or all of the table if there are none. A giant (ViT-g) takes
/// 5 GB of memory.
RIA_API std::vector<MethodCheck> check_methods(const std::vector<std::string>& names,
                                               const CheckOptions& options = {});

}  // namespace ria
