// SPDX-License-Identifier: MIT
// SALAD's aggregator alone, behind DINOv2, and as one checkpoint with it.
#include "golden/head_case.h"
#include "golden/reference.h"
#include "head/heads.h"
#include "head/salad.h"

namespace ria {
namespace {

class SaladGolden : public HeadCase {
 protected:
  SaladGolden() : HeadCase("salad") {}

  /// The file that case.json says is "for agg.*", "for e2e.*" or "for ckpt.*".
  std::optional<std::filesystem::path> weights_for(const std::string& part) {
    for (const auto& [file, meaning] : golden().info().at("weights").items()) {
      const bool meant = meaning.get<std::string>().find("for " + part + ".") != std::string::npos;
      if (meant && std::filesystem::exists(folder() / file)) return folder() / file;
    }
    leave_out("weights for " + part);
    return std::nullopt;
  }

  static std::unique_ptr<Backbone> dinov2(const std::filesystem::path& weights) {
    BackboneOptions options;
    options.weights = weights.string();
    options.facet = Facet::kToken;
    options.final_norm = true;
    return make_backbone("dinov2", options);
  }

  /// From pictures to the descriptors of a part.
  void check_network(const std::filesystem::path& network,
                     const std::filesystem::path& head_file,
                     const Tensor& images,
                     const std::string& key) {
    if (!has_output(key)) return;
    const auto backbone = dinov2(network);
    const auto head = read_salad(TensorFile::open(head_file));
    for (std::int64_t b = 0; b < images.shape[0]; ++b) {
      expect_descriptor(head->aggregate(backbone->extract(pixels_of(images, b))), key, b);
    }
  }
};

TEST_F(SaladGolden, Aggregator) {
  const auto file = weights_for("agg");
  if (!file || !has_input("agg.f") || !has_input("agg.t") || !has_output("agg.out")) return;
  const auto head = read_salad(TensorFile::open(*file));
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
    const auto file = weights_for(part);
    if (!file || !has_output(part + ".scores") || !has_output(part + ".log_P")) continue;
    const double dust_bin = TensorFile::open(*file).at("aggregator.dust_bin").doubles().at(0);
    const Tensor& scores = output(part + ".scores");
    for (std::int64_t b = 0; b < scores.shape[0]; ++b) {
      const EigenMatrix given = as_eigen(item_rows(scores, b)).transpose();
      const EigenMatrix expected = as_eigen(item_rows(output(part + ".log_P"), b)).transpose();
      const EigenMatrixD plan = sinkhorn_log_plan(given, dust_bin, 3);
      expect_close(plan.cast<float>(), expected, atol(part + ".log_P"));
      EXPECT_LE((plan.array().exp().rowwise().sum() - 1).abs().maxCoeff(), 1e-12);
      // The dustbin's score has no influence.
      const EigenMatrixD other = sinkhorn_log_plan(given, dust_bin + 5, 3);
      EXPECT_LE((plan - other).cwiseAbs().maxCoeff(), 1e-10);
    }
  }
}

TEST_F(SaladGolden, BehindItsNetwork) {
  const auto head = weights_for("e2e");
  if (!head) return;
  const auto network = referenced_weights(config().at("e2e").at("backbone"));
  const auto images = referenced_tensor(config().at("e2e").at("input"));
  if (network.empty() || !images) return leave_out("the network or input that e2e refers to");
  check_network(network.front(), *head, *images, "e2e.out");
}

TEST_F(SaladGolden, OneCheckpoint) {
  const auto file = weights_for("ckpt");
  if (!file || !has_input("ckpt.image")) return;
  check_network(*file, *file, input("ckpt.image"), "ckpt.out");
}

}  // namespace
}  // namespace ria
