// SPDX-License-Identifier: MIT
// SelaVPR from a checkpoint of its training code: network with adapters, global and local features,
// re-ranking.
#include <array>
#include <regex>

#include "backbone/vit.h"
#include "golden/golden_case.h"
#include "golden/pixels.h"
#include "head/heads.h"
#include "rerank/selavpr.h"
#include "ria/verify.h"
#include "weights/architecture.h"

namespace ria {
namespace {

class SelavprGolden : public GoldenCaseTest {
 protected:
  SelavprGolden() : GoldenCaseTest("selavpr") {}

  void SetUp() override {
    GoldenCaseTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_FALSE(golden().weight_files().empty());
    weights_.emplace(TensorFile::open(golden().weight_files().front()));
    crops_ = golden().info().at("inputs").at("crops_[image,top,left]");
    ASSERT_FALSE(crops_.empty());
  }

  int num_crops() const { return static_cast<int>(crops_.size()); }

  /// The size of a crop starts the text that leads from it to the local grid: "224x224 -> 16x16
  /// grid -> 61x61 local grid".
  Pixels crop(int b) const {
    std::smatch match;
    const std::string text = config().at("input");
    if (!std::regex_search(text, match, std::regex("^(\\d+)x(\\d+) "))) {
      throw std::runtime_error("case.json: no size in '" + text + "'");
    }
    const int height = std::stoi(match[1]), width = std::stoi(match[2]);
    const auto [picture, top, left] = crops_.at(b);
    const Image image = load_image(folder() / ("image" + std::to_string(picture) + ".png"));
    Image cut{height, width, {}};
    for (int y = 0; y < height; ++y) {
      const auto row = image.rgb.begin() + (static_cast<long>(top + y) * image.width + left) * 3;
      cut.rgb.insert(cut.rgb.end(), row, row + 3L * width);
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

  std::optional<TensorFile> weights_;
  std::vector<std::array<int, 3>> crops_;  ///< picture, top, left
};

TEST_F(SelavprGolden, BlocksWithAdapters) {
  const int depth = vit_shape(*weights_, canonical_vit_names(*weights_)).depth;
  for (int block = 0; block < depth; ++block) {
    const std::string key = "block" + std::to_string(block) + "_image0";
    if (!has_output(key)) continue;
    SCOPED_TRACE(key);
    VitOutput output_of_block;
    output_of_block.blocks = block + 1;
    const Vit vit(*weights_, output_of_block, Precision::kFp32);
    EXPECT_EQ(vit.shape().adapter, vit.shape().dim * config().at("adapter_ratio").get<double>());
    expect_close(vit.tokens(crop(0)), item_rows(output(key), 0), atol(key));
  }
}

TEST_F(SelavprGolden, GlobalAndLocalFeatures) {
  const auto network = backbone();
  const auto head = read_selavpr(*weights_);
  const auto reranker = read_selavpr_reranker(*weights_);
  const bool global = has_output("global_feature"), local = has_output("local_feature");
  for (int b = 0; b < num_crops(); ++b) {
    SCOPED_TRACE(b);
    const PatchFeatures features = network->extract(crop(b));
    if (b == 0 && has_output("x_norm_patchtokens0")) {
      expect_close(features.patches,
                   item_rows(output("x_norm_patchtokens0"), 0),
                   atol("x_norm_patchtokens0"));
    }
    if (global) {
      expect_close(
          head->aggregate(features), row_of(output("global_feature"), b), atol("global_feature"));
    }
    if (!local) continue;
    const Tensor& expected = output("local_feature");
    const LocalFeatures found = reranker->extract(features);
    EXPECT_EQ(found.grid_height, expected.shape.at(1));
    EXPECT_EQ(found.grid_width, expected.shape.at(2));
    expect_close(found.vectors, item_rows(expected, b), atol("local_feature"));
  }
}

// Crop 0 is the query, the others are its answers.
TEST_F(SelavprGolden, Reranking) {
  if (!has_output("rerank.scores")) return;
  const auto network = backbone();
  const auto reranker = read_selavpr_reranker(*weights_);
  const auto local = [&](int b) { return reranker->extract(network->extract(crop(b))); };
  const std::vector<double> expected = output("rerank.scores").doubles();
  ASSERT_EQ(std::ssize(expected), num_crops() - 1);
  const LocalFeatures query = local(0);
  std::vector<Match> matches;
  std::vector<double> scores;
  for (int b = 1; b < num_crops(); ++b) {
    matches.push_back({b, 1.0f - 0.1f * static_cast<float>(b)});
    scores.push_back(reranker->score(query, local(b)));
    const double wanted = expected.at(b - 1);
    EXPECT_NEAR(scores.back(), wanted, std::max(atol("rerank.scores"), 0.005 * wanted));
  }
  if (!has_output("rerank.order")) return;
  const std::vector<double> order = output("rerank.order").doubles();
  const std::vector<Match> ordered = reranker->reorder(matches, scores);
  ASSERT_EQ(ordered.size(), order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    EXPECT_EQ(ordered[i].place, static_cast<int>(order[i]));
    EXPECT_EQ(ordered[i].score, static_cast<float>(scores.at(ordered[i].place - 1)));
  }
}

/// Item b of [B, H, W, C] or, without that axis, the one there is.
LocalFeatures local_of(const Tensor& tensor, std::int64_t b) {
  Tensor items = tensor;
  if (items.shape.size() == 3) items.shape.insert(items.shape.begin(), 1);
  return {item_rows(items, b),
          static_cast<int>(items.shape.at(1)),
          static_cast<int>(items.shape.at(2))};
}

TEST_F(SelavprGolden, ScoresOfTinyGridsAreExact) {
  if (!has_input("tiny.query") || !has_input("tiny.candidates") || !has_output("tiny.scores")) {
    return;
  }
  const auto reranker = read_selavpr_reranker(*weights_);
  const std::vector<double> expected = output("tiny.scores").doubles();
  for (std::size_t b = 0; b < expected.size(); ++b) {
    const double score =
        reranker->score(local_of(input("tiny.query"), 0),
                        local_of(input("tiny.candidates"), static_cast<std::int64_t>(b)));
    EXPECT_NEAR(score, expected[b], atol("tiny.scores")) << b;
  }
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
  const auto head = read_selavpr(*weights_);
  for (int b = 0; b < num_crops(); ++b) {
    const PatchFeatures x = exact->extract(crop(b)), y = quick->extract(crop(b));
    EXPECT_NE(x.patches, y.patches) << "int8 computed in float32";
    EXPECT_GE(cosine(head->aggregate(x), head->aggregate(y)), 0.995);
  }
}

TEST_F(SelavprGolden, ArchitectureAndAdapters) {
  const std::string architecture = infer_architecture(*weights_);
  EXPECT_TRUE(architecture.starts_with("dinov2")) << architecture;
  EXPECT_EQ(describe_architecture(*weights_), architecture + " with adapters");
}

}  // namespace
}  // namespace ria
