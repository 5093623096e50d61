// SPDX-License-Identifier: MIT
// What the workers of a run tell each other.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "train/torch/tensors.h"

namespace ria {

/// The first line of what went wrong, without a trace of the stack or the name of a source file.
std::string one_line(const std::exception& problem);

/// All ranks call the same functions in the same order. Every failure is a std::runtime_error with
/// one line; the group is then given up, and its threads are not waited for.
class WorkerGroup {
 public:
  /// Waits until all workers are there. Throws std::invalid_argument where this LibTorch has no
  /// backend for the device.
  static std::unique_ptr<WorkerGroup> join(const TrainWorkers& workers, const at::Device& device);
  virtual ~WorkerGroup() = default;

  /// In place.
  virtual void sum(Tensor& tensor) = 0;
  /// The rows of all workers in order of rank; their number may differ.
  virtual std::vector<Tensor> gather_rows(const Tensor& rows) = 0;
};

/// "1.13.1, CPU, Gloo": the last part.
std::string worker_backend(bool cuda);

}  // namespace ria
