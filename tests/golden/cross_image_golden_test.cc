// SPDX-License-Identifier: MIT
// SuperVLAD and CricaVPR, whose encoders compare the pictures of a batch.
#include "golden/system_case.h"
#include "head/heads.h"
#include "weights/architecture.h"

namespace ria {
namespace {

class SuperVladGolden : public SystemCase {
 protected:
  SuperVladGolden() : SystemCase("supervlad") {}
};

TEST_F(SuperVladGolden, AllModelsOnAllBatches) {
  for (const auto& [model, settings] : config().items()) {
    SCOPED_TRACE(model);
    const auto path = folder() / (model + ".pth");
    if (!std::filesystem::exists(path)) {
      leave_out(path.filename().string());
      continue;
    }
    const TensorFile file = TensorFile::open(path);
    const auto network = dinov2(path, true);
    const auto head = read_supervlad(file, settings.at("ghost"));
    EXPECT_EQ(head->dim(), settings.at("descriptor"));
    for (const std::string& key : pictures()) {
      const std::string name = model + "." + key;
      const auto all = features(*network, input(key));
      expect_tokens(file, settings.at("depth"), pixels_of(input(key)), name + ".block_last");
      if (promised(name + ".patchtokens")) {
        const std::string tokens = name + ".patchtokens";
        expect_close(all[0].patches, item_rows(output(tokens), 0), atol(tokens));
      }
      expect_descriptors(*head, all, name + ".out");
      if (settings.at("crossimage").get<bool>() || all.size() == 1) continue;
      for (std::size_t b = 0; b < all.size(); ++b) {  // without the encoder nothing is compared
        expect_descriptor(head->aggregate(all[b]), name + ".out", static_cast<std::int64_t>(b));
      }
    }
  }
}

class CricaVprGolden : public SystemCase {
 protected:
  CricaVprGolden() : SystemCase("cricavpr") {}
};

TEST_F(CricaVprGolden, AdaptersRegionsAndEncoder) {
  if (weights().empty()) return;
  const TensorFile file = TensorFile::open(weights().front());
  const VitShape shape = vit_shape(file, canonical_vit_names(file));
  EXPECT_EQ(shape.adapters, VitAdapters::kMultiScale);
  EXPECT_EQ(shape.adapter, config().at("adapter").at("in_channels"));
  EXPECT_TRUE(describe_architecture(file).ends_with(" with adapters"));
  const auto network = dinov2(weights().front(), true);
  const auto head = read_cricavpr(file);
  EXPECT_EQ(head->dim(), config().at("descriptor"));
  for (const auto& [key, images] : crops()) {
    SCOPED_TRACE(key);
    std::vector<PatchFeatures> all;
    for (const Image& image : images) {
      all.push_back(network->extract(to_pixels(image, Normalization::kImagenet)));
    }
    const Pixels first = to_pixels(images[0], Normalization::kImagenet);
    for (int block = 0; block < shape.depth; ++block) {
      expect_tokens(file, block + 1, first, key + ".block" + std::to_string(block));
    }
    if (const std::string tokens = key + ".patchtokens"; promised(tokens)) {
      expect_close(all[0].patches, item_rows(output(tokens), 0), atol(tokens));
    }
    expect_descriptors(*head, all, key + ".out");
  }
}

TEST_F(CricaVprGolden, EightBitsAreNear) {
  const auto pictures = crops();
  if (weights().empty() || pictures.empty()) return;
  const auto exact = dinov2(weights().front(), true);
  BackboneOptions options;
  options.weights = weights().front().string();
  options.final_norm = true;
  options.precision = Precision::kInt8;
  const auto quick = make_backbone("dinov2", options);
  const auto head = read_cricavpr(TensorFile::open(weights().front()));
  const Pixels pixels = to_pixels(pictures.front().second.front(), Normalization::kImagenet);
  const Descriptor a = head->aggregate(exact->extract(pixels));
  const Descriptor b = head->aggregate(quick->extract(pixels));
  EXPECT_NE(a, b) << "int8 computed in float32";
  EXPECT_GE(as_eigen(a).dot(as_eigen(b)), 0.995f);
}

}  // namespace
}  // namespace ria
