// SPDX-License-Identifier: MIT
// A network run by ONNX Runtime, and all that crosses to the plugin libria-onnx.so. Nothing here is
// ONNX Runtime's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ria {

/// An input or an output as the file declares it.
struct OnnxTensor {
  std::string name;
  std::string type;                 ///< "float32", "uint8", ...
  std::vector<std::int64_t> shape;  ///< -1: left open; empty: no shape is declared
};

struct OnnxDescription {
  std::vector<OnnxTensor> inputs;
  std::vector<OnnxTensor> outputs;
  std::map<std::string, std::string> metadata;
};

/// A loaded file. Errors are std::runtime_error with one line: the file, and what ONNX Runtime
/// says.
class OnnxSession {
 public:
  virtual ~OnnxSession() = default;
  virtual OnnxDescription description() const = 0;

  /// What a run gives, for as long as it is called.
  using Use = std::function<void(std::span<const std::int64_t> shape, const float* values)>;
  /// Runs on one input of floats for one output of floats; any thread may call it.
  virtual void run(const std::string& input,
                   std::span<const std::int64_t> shape,
                   std::span<const float> values,
                   const std::string& output,
                   const Use& use) const = 0;
};

/// What libria-onnx.so offers.
struct OnnxFunctions {
  /// Of ONNX Runtime: "1.29.0".
  std::string (*version)();
  /// `threads`: cores that one run uses.
  std::unique_ptr<OnnxSession> (*open)(const std::string& file, int threads);
};

}  // namespace ria
