// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

namespace ria {

/// A file of the weight cache whose content has just been checked against its record.
struct VerifiedWeights {
  std::filesystem::path file;
  std::string sha256;
};

/// Throws std::runtime_error saying how to add it if it is missing or damaged.
VerifiedWeights verified_weights(const std::string& name);

}  // namespace ria
