// SPDX-License-Identifier: MIT
// The tensors of one head in a checkpoint, checked one by one.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ria/features.h"
#include "tensor/tensor.h"

namespace ria {

/// Every error is a std::runtime_error that names the file, the tensor and what was expected.
class HeadTensors {
 public:
  static constexpr std::int64_t kAny = -1;

  /// `probes` are tensors the head cannot be without, behind any known prefix (see prefixes.h);
  /// `head` is what errors call it: "MixVPR head".
  HeadTensors(const TensorFile& file,
              const std::string& head,
              const std::vector<std::string>& probes);
  /// Whether the file has such a head at all.
  static bool holds(const TensorFile& file, const std::vector<std::string>& probes);

  bool has(const std::string& name) const { return names_.count(name) != 0; }
  /// Name without prefix -> name in the file, for all behind the prefix.
  const std::map<std::string, std::string>& names() const { return names_; }

  /// How many layers "group.0.", "group.1." ... there are; a number left out is refused.
  int count(const std::string& group) const;

  /// A matrix of finite values: [rows, columns], a parameter's [1, rows, columns], a 1x1
  /// convolution's [rows, columns, 1, 1] or [rows, columns, 1], or MATLAB's [1, 1, rows, columns].
  Matrix matrix(const std::string& name,
                std::int64_t rows = kAny,
                std::int64_t columns = kAny) const;
  /// Finite values along one axis.
  Vector vector(const std::string& name, std::int64_t size = kAny) const;
  /// Finite values of exactly this shape, in which kAny stands for any length.
  std::vector<float> values(const std::string& name, const std::vector<std::int64_t>& shape) const;
  /// The length of an axis, 0 where there is no such tensor or axis.
  std::int64_t length(const std::string& name, std::size_t axis) const;
  /// One finite value.
  double scalar(const std::string& name) const;

  /// Says what is wrong with a tensor.
  [[noreturn]] void refuse(const std::string& name, const std::string& problem) const;
  /// The length of a descriptor made of so many parts, refused beyond what any index holds.
  int dim(std::int64_t parts, std::int64_t values) const;

 private:
  const Tensor& at(const std::string& name) const;
  void fill(const std::string& name, const Tensor& tensor, std::span<float> values) const;

  const TensorFile& file_;
  std::string head_;
  std::map<std::string, std::string> names_;
};

}  // namespace ria
