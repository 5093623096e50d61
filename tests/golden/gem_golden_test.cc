// SPDX-License-Identifier: MIT
// CosPlace's head alone and behind its network, and AnyLoc's pooling, as the case lists them. An
// output that is left out is not checked; one with an unknown name fails.
#include <gtest/gtest.h>

#include <regex>

#include "aggregate/features.h"
#include "aggregate/heads.h"
#include "backbone/resnet.h"
#include "golden/golden.h"
#include "golden/head_case.h"
#include "golden/pixels.h"
#include "ria/aggregator.h"

namespace ria {
namespace {

class GemGolden : public ::testing::Test {
 protected:
  void SetUp() override {
    RIA_NEEDS_GOLDEN("gem");
    info_ = load_case("gem");
    folder_ = golden_dir() / "gem";
    inputs_.emplace(TensorFile::open(folder_ / "inputs.safetensors"));
    outputs_.emplace(TensorFile::open(folder_ / "outputs.safetensors"));
  }
  double atol(const std::string& key) const { return info_.at("tolerance").at(key).at("atol"); }
  bool given(const std::string& name) const { return outputs_->contains(name); }

  /// The file of the case's list whose name ends like this.
  TensorFile weights(const std::string& ending) const {
    for (const auto& [file, meaning] : info_.at("weights").items()) {
      if (file.ends_with(ending)) return TensorFile::open(folder_ / file);
    }
    throw std::runtime_error("no weights ending in " + ending);
  }

  static std::string name_ending(const TensorFile& file, const std::string& ending) {
    for (const std::string& name : file.names()) {
      if (name.ends_with(ending)) return name;
    }
    throw std::runtime_error("no tensor ending in " + ending);
  }

  static LinearLayer linear(const TensorFile& file) {
    const Tensor& w = file.at(name_ending(file, "aggregation.3.weight"));
    const std::vector<float> weight = w.floats(),
                             bias = file.at(name_ending(file, "aggregation.3.bias")).floats();
    return {Eigen::Map<const Matrix>(weight.data(), w.shape[0], w.shape[1]),
            Eigen::Map<const Vector>(bias.data(), static_cast<Eigen::Index>(bias.size()))};
  }

  static GemOptions clamped(const TensorFile& file) {
    GemOptions options;
    options.p = file.at(name_ending(file, "aggregation.1.p")).doubles().at(0);
    return options;
  }

  nlohmann::json info_;
  std::filesystem::path folder_;
  std::optional<TensorFile> inputs_, outputs_;
};

const std::regex kAnyLoc("anyloc\\.p(\\d+)(_\\d+)?(_abs)?");

TEST_F(GemGolden, EveryOutputIsKnown) {
  const std::regex cosplace("cosplace_head\\.(l2|gem|out)|cosplace_e2e\\.out");
  EXPECT_FALSE(outputs_->names().empty());
  for (const std::string& name : outputs_->names()) {
    EXPECT_TRUE(std::regex_match(name, cosplace) || std::regex_match(name, kAnyLoc)) << name;
  }
}

TEST_F(GemGolden, CosPlaceHead) {
  if (!inputs_->contains("cosplace_head.x")) GTEST_SKIP() << "the case has no cosplace_head";
  const TensorFile file = weights(".safetensors");
  const GemOptions options = clamped(file);
  const Tensor& x = inputs_->at("cosplace_head.x");
  for (std::int64_t b = 0; b < x.shape[0]; ++b) {
    const Matrix patches = rows_of_nchw(x, b);
    if (given("cosplace_head.l2"))
      expect_close(normalized_rows(patches),
                   rows_of_nchw(outputs_->at("cosplace_head.l2"), b),
                   atol("cosplace_head.l2"));
    if (given("cosplace_head.gem"))
      expect_close(gem_pool(patches, options),
                   row_of(outputs_->at("cosplace_head.gem"), b),
                   atol("cosplace_head.gem"));
    if (!given("cosplace_head.out")) continue;
    const auto made = make_gem(static_cast<int>(patches.cols()), options, linear(file));
    const auto read = read_cosplace(renamed(file, "head.", "module."));
    EXPECT_EQ(read->dim(), made->dim());
    for (const Aggregator* head : {made.get(), read.get()}) {
      expect_close(head->aggregate({patches, 0, 0, {}}),
                   row_of(outputs_->at("cosplace_head.out"), b),
                   atol("cosplace_head.out"));
    }
  }
}

TEST_F(GemGolden, CosPlaceWholeNetwork) {
  if (!given("cosplace_e2e.out")) GTEST_SKIP() << "the case has no cosplace_e2e";
  const TensorFile file = weights(".pth");
  ConvPlan plan = plan_resnet(file, "layer4");
  const ConvNet net(std::move(plan.steps), {plan.output});
  const FeatureMap map = net.run(pixels_of(inputs_->at("cosplace_e2e.image"))).front();
  const Matrix patches = Eigen::Map<const Matrix>(
      map.hwc.data(), static_cast<Eigen::Index>(map.height) * map.width, map.channels);
  const auto head = read_cosplace(file);
  EXPECT_EQ(head->dim(), outputs_->at("cosplace_e2e.out").shape.at(1));
  expect_close(head->aggregate({patches, map.height, map.width, {}}),
               row_of(outputs_->at("cosplace_e2e.out"), 0),
               atol("cosplace_e2e.out"));
}

// The same through the backbones' table.
TEST_F(GemGolden, CosPlaceFile) {
  if (!given("cosplace_e2e.out")) GTEST_SKIP() << "the case has no cosplace_e2e";
  const TensorFile file = weights(".pth");
  BackboneOptions options;
  options.weights = file.path().string();
  options.cut = "layer4";
  const auto features =
      make_backbone("resnet50", options)->extract(pixels_of(inputs_->at("cosplace_e2e.image")));
  expect_close(read_cosplace(file)->aggregate(features),
               row_of(outputs_->at("cosplace_e2e.out"), 0),
               atol("cosplace_e2e.out"));
}

TEST_F(GemGolden, AnyLocPooling) {
  if (!inputs_->contains("anyloc.patches")) GTEST_SKIP() << "the case has no anyloc";
  const Tensor& x = inputs_->at("anyloc.patches");
  const std::vector<float> values = x.floats();
  for (const std::string& name : outputs_->names()) {
    std::smatch match;
    if (!std::regex_match(name, match, kAnyLoc)) continue;
    SCOPED_TRACE(name);
    GemOptions options;
    options.normalize_patches = false;  // the patches come normalised, but for one channel
    options.p =
        std::stod(match[1].str() + (match[2].matched ? "." + match[2].str().substr(1) : ""));
    options.sign = match[3].matched ? GemSign::kAbsolute : GemSign::kPreserve;
    for (std::int64_t b = 0; b < x.shape[0]; ++b) {
      const Eigen::Map<const Matrix> patches(
          values.data() + b * x.shape[1] * x.shape[2], x.shape[1], x.shape[2]);
      expect_close(gem_pool(patches, options), row_of(outputs_->at(name), b), atol(name));
    }
  }
}

}  // namespace
}  // namespace ria
