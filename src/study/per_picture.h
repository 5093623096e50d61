// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ria/recognizer.h"

namespace ria {

/// What was measured of each picture.
struct PictureValues {
  std::vector<std::vector<float>> values;  ///< in the pictures' order, without those that failed
  std::vector<Failure> failures;
};

/// Measures `count` values of every picture, on all cores. What is finished is kept until all are,
/// so that a killed run goes on from there; `what` names the measurement with all that decides it.
/// A picture that cannot be read is a failure; std::runtime_error if all are. Throws Interrupted.
PictureValues measure_pictures(const std::vector<std::filesystem::path>& pictures,
                               const std::string& what,
                               std::size_t count,
                               const RunOptions& run,
                               const std::function<std::vector<float>(int picture)>& measure);

}  // namespace ria
