// SPDX-License-Identifier: MIT
// What the convolutional backbones share: tensors -> folded convolutions -> steps -> features.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backbone/backbone_weights.h"
#include "nn/conv_net.h"
#include "ria/backbone.h"
#include "tensor/tensor.h"

namespace ria {

/// A network up to its cut.
struct ConvPlan {
  std::vector<ConvStep> steps;
  std::map<std::string, int> cuts;  ///< places on the way, the cut itself included -> their tensor
  int output = 0;                   ///< tensor at the cut
  Matrix reading;                   ///< see Backbone::reading()
};

/// Collects the steps of a network from named tensors.
class ConvBuilder {
 public:
  /// `names`: canonical name -> name in the file. The file's metadata may say another bn_eps.
  ConvBuilder(const TensorFile& file,
              std::map<std::string, std::string> names,
              double bn_eps = 1e-5);

  bool has(const std::string& name) const { return names_.count(name) != 0; }
  const std::string& path() const { return path_; }

  /// `conv`.weight with `conv`.bias if there is one and, where `norm` is not empty, with that batch
  /// norm folded in.
  Convolution read(const std::string& conv, const std::string& norm, int stride, int pad) const;

  /// The weights of a convolution as rows over its input's channels, one for each output and tap.
  Matrix reading(const std::string& conv, const std::string& norm) const;

  /// Appends a step; the tensor it writes is then last().
  void add(Convolution convolution, int input, int residual, bool relu);
  void add_max_pool(int kernel, int stride, int pad);
  int last() const { return static_cast<int>(steps_.size()); }
  std::vector<ConvStep>& steps() { return steps_; }

 private:
  std::vector<float> values(const std::string& name, std::int64_t expected) const;
  void fold(Convolution& convolution, const std::string& norm) const;

  const TensorFile& file_;
  std::string path_;
  std::map<std::string, std::string> names_;
  double eps_;
  std::vector<ConvStep> steps_;
};

/// What a network of this file reads. Its metadata may say normalization "caffe", or "minus_mean"
/// with three numbers as "mean"; else it is ImageNet's.
Preprocessing conv_preprocessing(const TensorFile& file);

/// The plan as a backbone.
std::unique_ptr<Backbone> make_conv_backbone(const BackboneWeights& weights,
                                             ConvPlan plan,
                                             const BackboneOptions& options);

/// "cut is 'x', what the network of this file can do was expected"
[[noreturn]] void refuse_cut(const std::string& cut,
                             const TensorFile& file,
                             const std::string& possible);

}  // namespace ria
