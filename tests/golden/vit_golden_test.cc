// SPDX-License-Identifier: MIT
// DINO and DINOv2: every output that a case lists, from every file layout. The names of the outputs
// say what is to be computed; one that says nothing known fails.
#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "backbone/vit.h"
#include "golden/golden.h"
#include "golden/pixels.h"

namespace ria {
namespace {

/// The last two axes of a tensor, or one row.
Matrix rows_of(const Tensor& tensor) {
  const std::vector<float> values = tensor.floats();
  const auto columns = tensor.shape.back();
  return Eigen::Map<const Matrix>(
      values.data(), static_cast<long>(values.size()) / columns, columns);
}

/// What part of the tokens an output is.
enum class Part { kAll, kPatches, kClass, kRegisters, kPositions };

struct Wanted {
  VitOutput output;
  Part part = Part::kAll;
};

Facet facet_of(const std::string& name) {
  return std::map<std::string, Facet>{{"query", Facet::kQuery},
                                      {"key", Facet::kKey},
                                      {"value", Facet::kValue},
                                      {"token", Facet::kToken}}
      .at(name);
}

Wanted wanted(std::string what, const VitShape& shape) {
  Wanted result;
  result.output.position_rule = shape.registers > 0 ? PositionRule::kReg : PositionRule::kHub;
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
  const Matrix tokens = vit.tokens(pixels);
  if (part == Part::kPatches) return tokens.bottomRows(height * width);
  if (part == Part::kClass) return tokens.topRows(1);
  if (part == Part::kRegisters) return tokens.middleRows(1, vit.shape().registers);
  return tokens;
}

void check_all(const std::string& name, const std::vector<std::string>& weight_files) {
  const auto info = load_case(name);
  const auto folder = golden_dir() / name;
  const TensorFile inputs = TensorFile::open(folder / "inputs.safetensors");
  const TensorFile outputs = TensorFile::open(folder / "outputs.safetensors");
  for (const std::string& file : weight_files) {
    const TensorFile weights = TensorFile::open(folder / file);
    const VitShape shape = vit_shape(weights, canonical_vit_names(weights));
    for (const auto& [key, expected] : outputs.tensors()) {
      if (key == "nearest_downscale") continue;  // a resized picture: image_test
      SCOPED_TRACE(file + " " + key);
      const auto dot = key.rfind('.');
      const std::string input = key.substr(0, dot);
      Wanted asked = wanted(key.substr(dot + 1), shape);
      if (input.starts_with("stride4.")) asked.output.stride = 4;
      const Vit vit(weights, asked.output, Precision::kFp32);
      expect_close(part_of(vit, pixels_of(inputs.at(input)), asked.part),
                   rows_of(expected),
                   info.at("tolerance").at(key).at("atol").get<double>());
    }
  }
}

TEST(VitGolden, Dinov2Mlp) {
  RIA_NEEDS_GOLDEN("dinov2_mlp");
  check_all("dinov2_mlp", {"weights_hub.pth", "model.safetensors"});
}

TEST(VitGolden, Dinov2SwiGlu) {
  RIA_NEEDS_GOLDEN("dinov2_swiglu");
  check_all("dinov2_swiglu", {"weights_hub.pth", "model.safetensors"});
}

TEST(VitGolden, Dinov2WithRegisters) {
  RIA_NEEDS_GOLDEN("dinov2_reg");
  check_all("dinov2_reg", {"weights_hub.pth", "model.safetensors"});
}

TEST(VitGolden, DinoAndItsStride) {
  RIA_NEEDS_GOLDEN("dino_v1");
  check_all("dino_v1", {"weights.pth"});
}

}  // namespace
}  // namespace ria
