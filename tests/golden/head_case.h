// SPDX-License-Identifier: MIT
// A golden case of a head: its inputs, outputs, tolerances and files.
#pragma once

#include <optional>
#include <set>

#include "golden/golden.h"
#include "golden/pixels.h"
#include "ria/backbone.h"
#include "weights/tensor.h"

namespace ria {

class HeadCase : public ::testing::Test {
 protected:
  explicit HeadCase(const std::string& name) : name_(name), folder_(golden_dir() / name) {}

  void SetUp() override {
    RIA_NEEDS_GOLDEN(name_);
    info_ = load_case(name_);
    inputs_.emplace(TensorFile::open(folder_ / "inputs.safetensors"));
    outputs_.emplace(TensorFile::open(folder_ / "outputs.safetensors"));
  }

  double atol(const std::string& key) const { return info_.at("tolerance").at(key).at("atol"); }
  TensorFile open(const std::string& file) const { return TensorFile::open(folder_ / file); }
  const Tensor& input(const std::string& key) const { return inputs_->at(key); }
  const Tensor& output(const std::string& key) const { return outputs_->at(key); }

  /// The descriptor of item b as the case has it.
  void expect_descriptor(const Descriptor& actual, const std::string& key, std::int64_t b) const {
    SCOPED_TRACE(key);
    expect_close(actual, row_of(output(key), b), atol(key));
    EXPECT_NEAR(actual.norm(), 1, 1e-6);
  }

  /// Item b of a [B, C, H, W] tensor.
  static PatchFeatures features_of(const Tensor& x, std::int64_t b) {
    return {
        rows_of_nchw(x, b), static_cast<int>(x.shape.at(2)), static_cast<int>(x.shape.at(3)), {}};
  }

  static std::unique_ptr<Backbone> backbone(const std::string& name,
                                            const std::filesystem::path& weights,
                                            const std::string& cut = "") {
    BackboneOptions options;
    options.weights = weights.string();
    options.cut = cut;
    return make_backbone(name, options);
  }

  std::string name_;
  std::filesystem::path folder_;
  nlohmann::json info_;
  std::optional<TensorFile> inputs_, outputs_;
};

/// The tensors behind a prefix, with another one before them.
inline TensorFile renamed(const TensorFile& file, const std::string& from, const std::string& to) {
  TensorMap tensors;
  for (const auto& [name, tensor] : file.tensors()) {
    if (name.starts_with(from)) tensors[to + name.substr(from.size())] = tensor;
  }
  return {file.path(), file.format(), std::move(tensors), file.metadata()};
}

}  // namespace ria
