// SPDX-License-Identifier: MIT
// What an ONNX file reads and gives, as far as its shapes, its metadata and the options say.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backbone/onnx_session.h"
#include "ria/backbone.h"

namespace ria {

struct OnnxNetwork {
  std::string file;     ///< for errors
  OnnxOptions options;  ///< with what the file's metadata say where the caller left it open
  OnnxTensor input;     ///< [1, 3, H, W], or [1, H, W, 3] where channels are last
  OnnxTensor output;    ///< [1, D], [1, tokens, D], or a feature map as the input lies
  bool channels_last = false;
  int height = 0;  ///< pixels; 0: any
  int width = 0;
  Preprocessing preprocessing;

  /// Length of the output's vectors, of a shape that a run gave or the file declares; 0: open.
  int dim(std::span<const std::int64_t> shape) const;
  /// Whether that shape is one vector: the picture's descriptor.
  bool is_global(std::span<const std::int64_t> shape) const;
  /// The features in what a run on a picture of this size gave.
  PatchFeatures features(std::span<const std::int64_t> shape,
                         const float* values,
                         int picture_height,
                         int picture_width) const;
};

/// Throws std::runtime_error for a file that is no network of one picture, std::invalid_argument
/// where the options must say more or say what the file has not.
OnnxNetwork read_onnx_network(const std::string& file,
                              const OnnxDescription& description,
                              const OnnxOptions& options);

/// How many tokens stand in front of the patches, if the rest is to be a grid of square patches;
/// nothing: no number up to 16 does it.
std::optional<int> leading_tokens(int tokens, int height, int width);

/// "[1,3,?,?]"
std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace ria
