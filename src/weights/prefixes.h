// SPDX-License-Identifier: MIT
// What a training program put in front of a network's tensor names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace ria {

/// Name without prefix -> name in the file, for every tensor behind the one prefix behind which all
/// of `probes` are found; empty if there is none. A prefix is a chain of words such as "module.",
/// "backbone.", "model.", "encoder.", "features.", "dinov2."; the shortest one wins.
std::map<std::string, std::string> names_behind_prefix(const TensorFile& file,
                                                       const std::vector<std::string>& probes);

}  // namespace ria
