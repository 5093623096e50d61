// SPDX-License-Identifier: MIT
// Options of a run under the names of their fields: for config.json, and for comparing runs.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "ria/train.h"

namespace ria {

/// All options, in the order of the struct.
nlohmann::ordered_json train_options_json(const TrainOptions& options);

/// Whether runs may differ in it and still be one run: threads, folders, device.
bool is_of_the_machine(const std::string& option);

/// The first field that two records of runs have not in common, and what they have; fields of the
/// machine are not looked at. Objects are compared field by field.
struct OptionDifference {
  std::string name, first, second;
};
std::optional<OptionDifference> first_difference(const nlohmann::ordered_json& first,
                                                 const nlohmann::ordered_json& second);

}  // namespace ria
