// SPDX-License-Identifier: MIT
// A convolutional network as a list of steps, run on oneDNN.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ria/backbone.h"
#include "ria/image.h"

namespace ria {

/// Weights of one convolution with its batch norm already folded in.
struct Convolution {
  int out = 0;
  int in = 0;
  int kernel = 1;  ///< square
  int stride = 1;
  int pad = 0;
  std::vector<float> weight;  ///< out x in x kernel x kernel
  std::vector<float> bias;    ///< out
  std::string name{};         ///< of its tensors, for who writes them
  std::string norm{};         ///< of its batch norm's, if it had one
};

/// One step. Tensor 0 is the input; step i writes tensor i + 1.
struct ConvStep {
  enum class Kind { kConvolution, kMaxPool };
  Kind kind = Kind::kConvolution;
  int input = 0;      ///< tensor read
  int residual = -1;  ///< tensor added before the ReLU; it must not be read by a later step
  bool relu = false;
  Convolution convolution;
  int kernel = 0;  ///< of the pool; padding is -infinity
  int stride = 0;
  int pad = 0;
};

/// A result: rows are grid points in row-major order, columns channels.
struct FeatureMap {
  int height = 0;
  int width = 0;
  int channels = 0;
  std::vector<float> hwc;
};

/// With int8, a convolution reads its input as levels of the tensor's largest value and its weights
/// as levels of the output channel's; sums are exact, residuals are added in fp32. A convolution
/// whose input may be negative, such as the first, stays in fp32.
///
/// Runs on any input size; what a size needs (compiled layers, one activation arena) is made at its
/// first picture and kept for the next of the same size. run() may be called from many threads.
class ConvNet {
 public:
  /// `outputs` are the tensors run() returns, in rising order.
  ConvNet(std::vector<ConvStep> steps,
          std::vector<int> outputs,
          Precision precision = Precision::kFp32,
          int input_channels = 3);
  ~ConvNet();

  std::vector<FeatureMap> run(const Pixels& pixels) const;
  /// The same into memory of the caller's, which `room` is asked for once an output, in their
  /// order.
  using Room = std::function<float*(int height, int width, int channels)>;
  void run(const Pixels& pixels, const Room& room) const;

  /// Multiply-adds, counted twice, of the convolutions at this input size.
  double flops(int height, int width) const;
  /// Channels of a tensor.
  int channels(int tensor) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ria
