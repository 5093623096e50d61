// SPDX-License-Identifier: MIT
// MixVPR's aggregator alone, mixer by mixer, and behind its network.
#include "aggregate/heads.h"
#include "golden/head_case.h"

namespace ria {
namespace {

class MixVprGolden : public HeadCase {
 protected:
  MixVprGolden() : HeadCase("mixvpr") {}
};

Tensor identity(std::int64_t size) {
  const Matrix eye = Matrix::Identity(size, size);
  return make_tensor({size, size}, std::vector<float>(eye.data(), eye.data() + eye.size()));
}

TEST_F(MixVprGolden, Aggregator) {
  for (const std::string prefix : {"", "model.", "module."}) {
    const auto head = read_mixvpr(renamed(open("aggregator.safetensors"), "", prefix));
    const Tensor& x = input("agg.x");
    EXPECT_EQ(head->dim(), output("agg.out").shape[1]);
    for (std::int64_t b = 0; b < x.shape[0]; ++b) {
      expect_descriptor(head->aggregate(features_of(x, b)), "agg.out", b);
    }
  }
}

// With projections that change nothing, the descriptor is the last mixer's output at length one.
TEST_F(MixVprGolden, EveryMixer) {
  const TensorFile file = open("aggregator.safetensors");
  const Tensor& x = input("agg.x");
  const std::int64_t channels = x.shape[1], positions = x.shape[2] * x.shape[3];
  TensorMap tensors;
  for (int depth = 1; depth <= 4; ++depth) {
    const std::string mixer = "aggregator.mix." + std::to_string(depth - 1) + ".";
    for (const auto& [name, tensor] : renamed(file, mixer, mixer).tensors()) tensors[name] = tensor;
    tensors["aggregator.channel_proj.weight"] = identity(channels);
    tensors["aggregator.channel_proj.bias"] = make_tensor({channels}, std::vector<float>(channels));
    tensors["aggregator.row_proj.weight"] = identity(positions);
    tensors["aggregator.row_proj.bias"] = make_tensor({positions}, std::vector<float>(positions));
    const auto head = read_mixvpr({"cut.safetensors", WeightFormat::safetensors, tensors});
    const std::string key = "agg.mix" + std::to_string(depth - 1);
    const std::vector<float> values = output(key).floats();
    for (std::int64_t b = 0; b < x.shape[0]; ++b) {
      const Eigen::Map<const Vector> mixed(values.data() + b * channels * positions,
                                           channels * positions);
      SCOPED_TRACE(key);
      expect_close(
          Vector(head->aggregate(features_of(x, b)) * mixed.norm()), Vector(mixed), atol(key));
    }
  }
}

TEST_F(MixVprGolden, BehindItsNetwork) {
  const std::filesystem::path file = folder_ / "e2e_lightning.ckpt.pth";
  const PatchFeatures features =
      backbone("resnet50", file, "layer3")->extract(pixels_of(input("e2e.image")));
  expect_close(features.patches, rows_of_nchw(output("e2e.features"), 0), atol("e2e.features"));
  expect_descriptor(read_mixvpr(TensorFile::open(file))->aggregate(features), "e2e.out", 0);
}

}  // namespace
}  // namespace ria
