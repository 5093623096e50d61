// SPDX-License-Identifier: MIT
// The networks of a case of ResNets.
#pragma once

#include "golden/golden_case.h"

namespace ria {

/// The published network of these block counts, "resnet" if there is none.
inline std::string resnet_architecture(const nlohmann::json& config) {
  using Layers = std::vector<int>;
  const auto layers = config.at("layers").get<Layers>();
  if (config.at("block") == "Bottleneck") {
    return layers == Layers{3, 4, 6, 3}    ? "resnet50"
           : layers == Layers{3, 4, 23, 3} ? "resnet101"
           : layers == Layers{3, 8, 36, 3} ? "resnet152"
                                           : "resnet";
  }
  return layers == Layers{2, 2, 2, 2}   ? "resnet18"
         : layers == Layers{3, 4, 6, 3} ? "resnet34"
                                        : "resnet";
}

/// The files of a network, which begin with its name.
inline std::vector<TensorFile> resnet_files(const GoldenCase& golden, const std::string& network) {
  std::vector<TensorFile> found;
  for (const std::filesystem::path& path : golden.weight_files()) {
    if (path.filename().string().starts_with(network + "_")) {
      found.push_back(TensorFile::open(path));
    }
  }
  return found;
}

}  // namespace ria
