// SPDX-License-Identifier: MIT
// DINO and DINOv2: every output that a case lists, from every file layout. The names of the outputs
// say what is to be computed; one that says nothing known fails.
#include <regex>

#include "backbone/vit.h"
#include "golden/dinov2_cases.h"
#include "golden/pixels.h"

namespace ria {
namespace {

/// What part of the tokens an output is.
enum class Part { kAll, kPatches, kClass, kRegisters, kPositions };

struct Wanted {
  VitOutput output;
  Part part = Part::kAll;
};

Wanted wanted(std::string what, const VitShape& shape, PositionRule rule) {
  Wanted result;
  result.output.position_rule = rule;
  if (what.starts_with("hfpos_")) {
    result.output.position_rule = PositionRule::kHf;
    what = what.substr(6);
  }
  std::smatch match;
  if (std::regex_match(what, match, std::regex("block(\\d+)"))) {
    result.output.blocks = 1 + std::stoi(match[1]);
  } else if (std::regex_match(
                 what, match, std::regex("(?:facet_)?(query|key|value|token)(\\d+)"))) {
    result.output.facet = facet_of(match[1]);
    result.output.blocks = std::stoi(match[2]) + (match[1] == "token" ? 1 : 0);
    result.part = Part::kPatches;
  } else if (what.starts_with("x_norm_") || what == "cls_norm") {
    result.output.blocks = shape.depth;
    result.output.final_norm = true;
    result.part = what == "x_norm_patchtokens" ? Part::kPatches
                  : what == "x_norm_regtokens" ? Part::kRegisters
                                               : Part::kClass;
  } else if (what == "pos_embed_interp") {
    result.part = Part::kPositions;
  } else if (what != "tokens_in") {
    ADD_FAILURE() << "nothing is known of output " << what;
  }
  return result;
}

Matrix part_of(const Vit& vit, const Pixels& pixels, Part part) {
  const int height = vit.grid(pixels.height), width = vit.grid(pixels.width);
  if (part == Part::kPositions) return vit.positions(height, width);
  const EigenMatrix tokens = as_eigen(vit.tokens(pixels));
  if (part == Part::kPatches) return to_matrix(tokens.bottomRows(height * width));
  if (part == Part::kClass) return to_matrix(tokens.topRows(1));
  if (part == Part::kRegisters) return to_matrix(tokens.middleRows(1, vit.shape().registers));
  return to_matrix(tokens);
}

/// An output "<input>.<what>"; inputs of AnyLoc's extractor are called "stride4.<HxW>".
void check_output(const GoldenCase& golden, const TensorFile& weights, const std::string& key) {
  const auto dot = key.rfind('.');
  const std::string input = key.substr(0, dot);
  const VitShape shape = vit_shape(weights, canonical_vit_names(weights));
  Wanted asked = wanted(key.substr(dot + 1), shape, position_rule(golden));
  std::smatch match;
  if (std::regex_search(input, match, std::regex("^stride(\\d+)\\."))) {
    asked.output.stride = std::stoi(match[1]);
  }
  const Vit vit(weights, asked.output, Precision::kFp32);
  const Tensor& expected = golden.outputs().at(key);
  for (std::int64_t b = 0; b < expected.shape[0]; ++b) {
    expect_close(part_of(vit, pixels_of(golden.inputs().at(input), b), asked.part),
                 item_rows(expected, b),
                 golden.atol(key));
  }
}

void check_all(const GoldenCase& golden) {
  ASSERT_FALSE(golden.weight_files().empty());
  ASSERT_FALSE(golden.outputs().names().empty());
  for (const std::filesystem::path& file : golden.weight_files()) {
    const TensorFile weights = TensorFile::open(file);
    for (const std::string& key : golden.outputs().names()) {
      if (key == "nearest_downscale") continue;  // no output of the network
      SCOPED_TRACE(file.string() + " " + key);
      check_output(golden, weights, key);
    }
  }
}

template <typename Is>
void check_dinov2_where(Is is) {
  int checked = 0;
  for (const GoldenCase& golden : dinov2_cases()) {
    if (!is(golden.config())) continue;
    check_all(golden);
    ++checked;
  }
  if (checked == 0) GTEST_SKIP() << "no such case in " << golden_dir().string();
}

bool with_registers(const nlohmann::json& config) {
  return config.value("num_register_tokens", 0) > 0;
}

bool gated(const nlohmann::json& config) {
  return config.at("ffn_layer").get<std::string>().starts_with("swiglu");
}

TEST(VitGolden, Dinov2Mlp) {
  check_dinov2_where([](const auto& config) { return !gated(config) && !with_registers(config); });
}

TEST(VitGolden, Dinov2SwiGlu) { check_dinov2_where(gated); }

TEST(VitGolden, Dinov2WithRegisters) { check_dinov2_where(with_registers); }

class DinoGolden : public GoldenCaseTest {
 protected:
  DinoGolden() : GoldenCaseTest("dino_v1") {}
};

TEST_F(DinoGolden, EveryOutputAndStride) { check_all(golden()); }

TEST_F(DinoGolden, NearestPixels) {
  if (!has_output("nearest_downscale")) return;
  const Tensor& expected = output("nearest_downscale");
  const Pixels whole = to_pixels(load_image(folder() / "image.png"), Normalization::kImagenet);
  const Pixels resized = resize_pixels(whole,
                                       static_cast<int>(expected.shape.at(2)),
                                       static_cast<int>(expected.shape.at(3)),
                                       Resize::kTensorNearest);
  const std::vector<float> values = expected.floats();
  ASSERT_EQ(resized.chw.size(), values.size());
  // Copies of pixels: case.json allows what the normalisation may round.
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(resized.chw[i], values[i], 1e-6) << i;
}

}  // namespace
}  // namespace ria
