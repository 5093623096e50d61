// SPDX-License-Identifier: MIT
// The flags of a made-up street, for simulate and demo.
#pragma once

#include <string>

#include "ria/simulate.h"

namespace CLI {
class App;
}

namespace ria::cli {

class SimulateFlags {
 public:
  explicit SimulateFlags(const SimulateOptions& defaults = {}) : options_(defaults) {}
  void add(CLI::App& command);
  SimulateOptions options(const RunOptions& run) const;

 private:
  SimulateOptions options_;
  std::string database_condition_, query_condition_;
};

}  // namespace ria::cli
