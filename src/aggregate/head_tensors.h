// SPDX-License-Identifier: MIT
// The tensors of one head in a checkpoint, checked one by one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ria/features.h"
#include "weights/tensor.h"

namespace ria {

/// Every error is a std::runtime_error that names the file, the tensor and what was expected.
class HeadTensors {
 public:
  static constexpr Eigen::Index kAny = -1;

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

  /// A matrix of finite values: [rows, columns], a 1x1 convolution's [rows, columns, 1, 1] or
  /// MATLAB's [1, 1, rows, columns].
  Matrix matrix(const std::string& name,
                Eigen::Index rows = kAny,
                Eigen::Index columns = kAny) const;
  /// Finite values along one axis.
  Vector vector(const std::string& name, Eigen::Index size = kAny) const;
  /// One finite value.
  double scalar(const std::string& name) const;

  /// Says what is wrong with a tensor.
  [[noreturn]] void refuse(const std::string& name, const std::string& problem) const;
  /// The length of a descriptor made of so many parts, refused beyond what any index holds.
  int dim(Eigen::Index parts, Eigen::Index values) const;

 private:
  const Tensor& at(const std::string& name) const;
  void fill(const std::string& name, const Tensor& tensor, float* values) const;

  const TensorFile& file_;
  std::string head_;
  std::map<std::string, std::string> names_;
};

}  // namespace ria
