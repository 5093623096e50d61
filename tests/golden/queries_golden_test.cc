// SPDX-License-Identifier: MIT
// EDTformer, DINO-Mix and QAA: heads that read all tokens of a DINOv2.
#include "golden/system_case.h"
#include "head/heads.h"

namespace ria {
namespace {

class EdtformerGolden : public SystemCase {
 protected:
  EdtformerGolden() : SystemCase("edtformer") {}
};
class DinoMixGolden : public SystemCase {
 protected:
  DinoMixGolden() : SystemCase("dinomix") {}
};
class QaaGolden : public SystemCase {
 protected:
  QaaGolden() : SystemCase("qaa") {}
};

TEST_F(EdtformerGolden, SidePathAndDecoder) {
  if (weights().empty()) return;
  const TensorFile file = TensorFile::open(weights().front());
  const VitShape shape = vit_shape(file, canonical_vit_names(file));
  EXPECT_EQ(shape.adapters, VitAdapters::kSide);
  EXPECT_EQ(shape.adapter, config().at("adapter_hidden"));
  const auto network = dinov2(weights().front(), true);
  const auto head = read_edtformer(file);
  EXPECT_EQ(head->dim(), config().at("descriptor"));
  for (const std::string& key : pictures()) {
    for (int block = 0; block < shape.depth; ++block) {
      expect_tokens(file, block + 1, pixels_of(input(key)), key + ".side" + std::to_string(block));
    }
    expect_descriptors(*head, features(*network, input(key)), key + ".out");
  }
}

TEST_F(DinoMixGolden, NetworkAndHead) {
  if (weights().empty()) return;
  const auto network = dinov2(weights().front(), false);
  const auto head = read_mixvpr(TensorFile::open(weights().front()));
  EXPECT_EQ(head->dim(), config().at("descriptor"));
  for (const std::string& key : pictures()) {
    const auto all = features(*network, input(key));
    expect_features(all, key + ".features");
    expect_descriptors(*head, all, key + ".out");
  }
}

TEST_F(QaaGolden, NetworkAndHead) {
  const auto path = folder() / "model.safetensors";
  if (!std::filesystem::exists(path)) return leave_out("model.safetensors");
  const nlohmann::json& own = config().at("agg");
  const auto network = dinov2(path, config().at("norm_layer"));
  QaaOptions options;
  options.feature_heads = own.at("feature_nheads");
  options.score_heads = own.at("score_nheads");
  options.out_norm = own.at("out_norm");
  const auto head = read_qaa(TensorFile::open(path), options);
  EXPECT_EQ(head->dim(), config().at("descriptor"));
  for (const std::string& key : pictures()) {
    const auto all = features(*network, input(key));
    expect_features(all, key + ".features");
    expect_descriptors(*head, all, key + ".out");
    if (!promised(key + ".token")) continue;
    expect_close(all[0].class_token, row_of(output(key + ".token"), 0), atol(key + ".token"));
  }
}

}  // namespace
}  // namespace ria
