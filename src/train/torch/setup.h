// SPDX-License-Identifier: MIT
// Threads, devices and what LibTorch would print.
#pragma once

#include "train/torch/tensors.h"

namespace ria {

/// Threads of LibTorch as the options say; its warnings are silenced.
void set_up(const EngineOptions& options);

/// "cpu", "cuda" or "cuda:N". Throws std::invalid_argument for others and for what is not there.
at::Device parse_device(const std::string& name);

/// "fp32" (kFloat), "bf16" or "fp16". Throws std::invalid_argument where the device has it not.
at::ScalarType parse_half(const std::string& precision, const at::Device& device);

/// "1.13.1, CPU, Gloo"
std::string torch_version();

std::unique_ptr<TrainEngine> make_engine(const NetworkShape& shape,
                                         const std::vector<NamedTensor>& tensors,
                                         const std::vector<std::string>& trained,
                                         const EngineOptions& options);

}  // namespace ria
