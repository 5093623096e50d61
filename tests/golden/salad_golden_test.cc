// SPDX-License-Identifier: MIT
// SALAD's aggregator alone, behind DINOv2, and as one checkpoint with it.
#include "aggregate/heads.h"
#include "aggregate/salad.h"
#include "golden/head_case.h"

namespace ria {
namespace {

class SaladGolden : public HeadCase {
 protected:
  SaladGolden() : HeadCase("salad") {}

  static std::unique_ptr<Backbone> dinov2(const std::filesystem::path& weights) {
    BackboneOptions options;
    options.weights = weights.string();
    options.facet = Facet::kToken;
    options.final_norm = true;
    return make_backbone("dinov2", options);
  }
};

/// Item b of a [B, rows, columns] tensor.
Matrix item(const Tensor& tensor, std::int64_t b) {
  const std::vector<float> values = tensor.floats();
  return Eigen::Map<const Matrix>(values.data() + b * tensor.shape.at(1) * tensor.shape.at(2),
                                  tensor.shape[1],
                                  tensor.shape[2]);
}

TEST_F(SaladGolden, Aggregator) {
  const auto head = read_salad(open("aggregator.safetensors"));
  const Tensor& x = input("agg.f");
  EXPECT_EQ(head->dim(), output("agg.out").shape[1]);
  for (std::int64_t b = 0; b < x.shape[0]; ++b) {
    PatchFeatures features = features_of(x, b);
    features.class_token = row_of(input("agg.t"), b);
    expect_descriptor(head->aggregate(features), "agg.out", b);
  }
}

TEST_F(SaladGolden, OptimalTransport) {
  for (const std::string part : {"agg", "e2e"}) {
    const TensorFile file =
        open(part == "agg" ? "aggregator.safetensors" : "e2e_aggregator.safetensors");
    const double dust_bin = file.at("aggregator.dust_bin").doubles().at(0);
    const Tensor& scores = output(part + ".scores");
    for (std::int64_t b = 0; b < scores.shape[0]; ++b) {
      const Matrix expected = item(output(part + ".log_P"), b).transpose();
      const MatrixD plan = sinkhorn_log_plan(item(scores, b).transpose(), dust_bin, 3);
      expect_close(plan.cast<float>().eval(), expected, atol(part + ".log_P"));
      EXPECT_LE((plan.array().exp().rowwise().sum() - 1).abs().maxCoeff(), 1e-12);
      // The dustbin's score has no influence.
      const MatrixD other = sinkhorn_log_plan(item(scores, b).transpose(), dust_bin + 5, 3);
      EXPECT_LE((plan - other).cwiseAbs().maxCoeff(), 1e-10);
    }
  }
}

TEST_F(SaladGolden, BehindItsNetwork) {
  RIA_NEEDS_GOLDEN("dinov2_mlp");
  const auto network = golden_dir() / "dinov2_mlp";
  const Tensor pixels = TensorFile::open(network / "inputs.safetensors").at("98x154");
  const PatchFeatures features = dinov2(network / "weights_hub.pth")->extract(pixels_of(pixels));
  const auto head = read_salad(open("e2e_aggregator.safetensors"));
  expect_descriptor(head->aggregate(features), "e2e.out", 0);
}

TEST_F(SaladGolden, OneCheckpoint) {
  const std::filesystem::path file = folder_ / "salad_style_checkpoint.pth";
  const PatchFeatures features = dinov2(file)->extract(pixels_of(input("ckpt.image")));
  expect_descriptor(read_salad(TensorFile::open(file))->aggregate(features), "ckpt.out", 0);
}

}  // namespace
}  // namespace ria
