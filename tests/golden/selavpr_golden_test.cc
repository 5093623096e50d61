// SPDX-License-Identifier: MIT
// SelaVPR from a checkpoint of its training code: network with adapters, global and local features,
// re-ranking.
#include <gtest/gtest.h>

#include <array>

#include "backbone/vit.h"
#include "golden/golden.h"
#include "golden/pixels.h"
#include "rerank/selavpr.h"
#include "ria/aggregator.h"
#include "ria/verify.h"
#include "weights/architecture.h"

namespace ria {
namespace {

/// Item b of a tensor of four axes as one row a position, the channels last.
Matrix rows_of_nhwc(const Tensor& tensor, std::int64_t b) {
  const auto positions = tensor.shape.at(1) * tensor.shape.at(2), channels = tensor.shape.at(3);
  const std::vector<float> values = tensor.floats();
  return Eigen::Map<const Matrix>(values.data() + b * positions * channels, positions, channels);
}

class SelavprGolden : public ::testing::Test {
 protected:
  void SetUp() override {
    RIA_NEEDS_GOLDEN("selavpr");
    const auto folder = golden_dir() / "selavpr";
    info_ = load_case("selavpr");
    weights_.emplace(TensorFile::open(folder / "checkpoint.pth"));
    inputs_.emplace(TensorFile::open(folder / "inputs.safetensors"));
    outputs_.emplace(TensorFile::open(folder / "outputs.safetensors"));
  }

  double atol(const std::string& key) const { return info_.at("tolerance").at(key).at("atol"); }

  Pixels crop(int b) const {
    constexpr int kSide = 224;
    const auto [picture, top, left] =
        info_.at("inputs").at("crops_[image,top,left]").at(b).get<std::array<int, 3>>();
    const Image image =
        load_image(golden_dir() / "selavpr" / ("image" + std::to_string(picture) + ".png"));
    Image cut{kSide, kSide, {}};
    for (int y = 0; y < kSide; ++y) {
      const auto row = image.rgb.begin() + (static_cast<long>(top + y) * image.width + left) * 3;
      cut.rgb.insert(cut.rgb.end(), row, row + 3 * kSide);
    }
    return to_pixels(cut, Normalization::kImagenet);
  }

  std::unique_ptr<Backbone> backbone(Precision precision = Precision::kFp32) const {
    BackboneOptions options;
    options.weights = weights_->path().string();
    options.final_norm = true;
    options.precision = precision;
    return make_backbone("dinov2", options);
  }

  Descriptor global(const PatchFeatures& features) const {
    GemOptions options;
    options.p = weights_->at("module.aggregation.1.p").doubles().at(0);
    options.sign = GemSign::kClamp;
    return gem_pool(features.patches, options).normalized();
  }

  nlohmann::json info_;
  std::optional<TensorFile> weights_, inputs_, outputs_;
};

double cosine(const Vector& a, const Vector& b) { return a.dot(b) / a.norm() / b.norm(); }

TEST_F(SelavprGolden, BlocksWithAdapters) {
  for (int block = 0; block < 2; ++block) {
    const std::string key = "block" + std::to_string(block) + "_image0";
    VitOutput output;
    output.blocks = block + 1;
    const Vit vit(*weights_, output, Precision::kFp32);
    EXPECT_EQ(vit.shape().adapter, 32);
    const Matrix expected = [&] {
      const std::vector<float> values = outputs_->at(key).floats();
      return Matrix(Eigen::Map<const Matrix>(values.data(), 257, 64));
    }();
    expect_close(vit.tokens(crop(0)), expected, atol(key));
  }
}

TEST_F(SelavprGolden, GlobalAndLocalFeatures) {
  const auto network = backbone();
  const auto reranker = read_selavpr_reranker(*weights_);
  for (int b = 0; b < 5; ++b) {
    SCOPED_TRACE(b);
    const PatchFeatures features = network->extract(crop(b));
    if (b == 0) {
      const std::vector<float> values = outputs_->at("x_norm_patchtokens0").floats();
      expect_close(features.patches,
                   Eigen::Map<const Matrix>(values.data(), 256, 64),
                   atol("x_norm_patchtokens0"));
    }
    expect_close(
        global(features), row_of(outputs_->at("global_feature"), b), atol("global_feature"));
    const LocalFeatures local = reranker->extract(features);
    EXPECT_EQ(local.grid_height, 61);
    EXPECT_EQ(local.grid_width, 61);
    expect_close(
        local.vectors, rows_of_nhwc(outputs_->at("local_feature"), b), atol("local_feature"));
  }
}

TEST_F(SelavprGolden, Reranking) {
  const auto network = backbone();
  const auto reranker = read_selavpr_reranker(*weights_);
  const auto local = [&](int b) { return reranker->extract(network->extract(crop(b))); };
  const std::vector<double> expected = outputs_->at("rerank.scores").doubles();
  const LocalFeatures query = local(0);
  std::vector<Match> matches;
  std::vector<double> scores;
  for (int b = 1; b < 5; ++b) {
    matches.push_back({b, 1.0f - 0.1f * static_cast<float>(b)});
    scores.push_back(reranker->score(query, local(b)));
    const double wanted = expected.at(scores.size() - 1);
    EXPECT_NEAR(scores.back(), wanted, std::max(3.0, 0.005 * wanted));
  }
  const std::vector<double> order = outputs_->at("rerank.order").doubles();
  const std::vector<Match> ordered = reranker->reorder(matches, scores);
  ASSERT_EQ(ordered.size(), order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    EXPECT_EQ(ordered[i].place, static_cast<int>(order[i]));
    EXPECT_EQ(ordered[i].score, static_cast<float>(scores.at(ordered[i].place - 1)));
  }
}

TEST_F(SelavprGolden, ScoresOfTinyGridsAreExact) {
  const auto reranker = read_selavpr_reranker(*weights_);
  const auto local = [&](const Tensor& tensor, std::int64_t b) {
    const auto axes = tensor.shape.size();
    const auto height = tensor.shape.at(axes - 3), width = tensor.shape.at(axes - 2);
    const std::vector<float> values = tensor.floats();
    const auto columns = tensor.shape.back();
    return LocalFeatures{Eigen::Map<const Matrix>(
                             values.data() + b * height * width * columns, height * width, columns),
                         static_cast<int>(height),
                         static_cast<int>(width)};
  };
  const std::vector<double> expected = outputs_->at("tiny.scores").doubles();
  for (std::size_t b = 0; b < expected.size(); ++b) {
    EXPECT_EQ(reranker->score(local(inputs_->at("tiny.query"), 0),
                              local(inputs_->at("tiny.candidates"), static_cast<std::int64_t>(b))),
              expected[b]);
  }
  EXPECT_EQ(expected.back(), 0) << "the case of a single pair";
}

TEST_F(SelavprGolden, OfEqualScoresTheLaterComesFirst) {
  const auto reranker = read_selavpr_reranker(*weights_);
  const auto ordered =
      reranker->reorder({{7, 0.9f}, {3, 0.8f}, {5, 0.7f}, {1, 0.6f}}, {12, 40, 12, 40});
  std::vector<int> places;
  for (const Match& match : ordered) places.push_back(match.place);
  EXPECT_EQ(places, (std::vector<int>{1, 3, 5, 7}));
}

TEST_F(SelavprGolden, EightBitsAreNear) {
  const auto exact = backbone(), quick = backbone(Precision::kInt8);
  for (int b = 0; b < 5; ++b) {
    const PatchFeatures x = exact->extract(crop(b)), y = quick->extract(crop(b));
    EXPECT_GT((x.patches - y.patches).cwiseAbs().maxCoeff(), 0) << "int8 computed in float32";
    EXPECT_GE(cosine(global(x), global(y)), 0.995);
  }
}

TEST_F(SelavprGolden, ArchitectureAndAdapters) {
  EXPECT_EQ(infer_architecture(*weights_), "dinov2");
  EXPECT_EQ(describe_architecture(*weights_), "dinov2 with adapters");
}

}  // namespace
}  // namespace ria
