// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

namespace ria {

/// A file of the weight cache whose content is what its record says.
struct VerifiedWeights {
  std::filesystem::path file;
  std::string sha256;
};

/// Throws std::runtime_error saying how to add it if it is missing or damaged.
VerifiedWeights verified_weights(const std::string& name);

/// Where cached weights and their records are.
std::filesystem::path weights_folder();

/// What a cached weight must hash to: its pin, else its record. Throws std::runtime_error if there
/// is neither.
std::string recorded_sha256(const std::string& name);

/// add_weights(), with the address the file came from in the record.
std::filesystem::path import_weights(const std::filesystem::path& file,
                                     const std::string& name,
                                     const std::string& url);

}  // namespace ria
