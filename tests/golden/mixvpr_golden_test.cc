// SPDX-License-Identifier: MIT
// MixVPR's aggregator alone, mixer by mixer, and behind its network.
#include "golden/head_case.h"
#include "head/heads.h"
#include "weights/architecture.h"

namespace ria {
namespace {

class MixVprGolden : public HeadCase {
 protected:
  MixVprGolden() : HeadCase("mixvpr") {}

  /// The file with the aggregator alone.
  std::optional<TensorFile> aggregator() {
    auto file = golden().weights_where(
        [](const TensorFile& held) { return canonical_resnet_names(held).empty(); });
    if (!file) leave_out("weights of the aggregator alone");
    return file;
  }
};

Tensor identity(std::int64_t size) {
  const EigenMatrix eye = EigenMatrix::Identity(size, size);
  return make_tensor({size, size}, std::vector<float>(eye.data(), eye.data() + eye.size()));
}

TEST_F(MixVprGolden, Aggregator) {
  const auto file = aggregator();
  if (!file || !has_input("agg.x") || !has_output("agg.out")) return;
  for (const std::string prefix : {"", "model.", "module."}) {
    const auto head = read_mixvpr(renamed(*file, "", prefix));
    const Tensor& x = input("agg.x");
    EXPECT_EQ(head->dim(), output("agg.out").shape[1]);
    for (std::int64_t b = 0; b < x.shape[0]; ++b) {
      expect_descriptor(head->aggregate(features_of(x, b)), "agg.out", b);
    }
  }
}

// With projections that change nothing, the descriptor is the last mixer's output at length one.
TEST_F(MixVprGolden, EveryMixer) {
  const auto file = aggregator();
  if (!file || !has_input("agg.x")) return;
  const Tensor& x = input("agg.x");
  const std::int64_t channels = x.shape[1], positions = x.shape[2] * x.shape[3];
  TensorMap tensors;
  for (int mixer = 0;; ++mixer) {
    const std::string name = "aggregator.mix." + std::to_string(mixer) + ".";
    TensorMap added = renamed(*file, name, name).tensors();
    if (added.empty()) break;
    tensors.merge(std::move(added));
    tensors["aggregator.channel_proj.weight"] = identity(channels);
    tensors["aggregator.channel_proj.bias"] = make_tensor({channels}, std::vector<float>(channels));
    tensors["aggregator.row_proj.weight"] = identity(positions);
    tensors["aggregator.row_proj.bias"] = make_tensor({positions}, std::vector<float>(positions));
    const std::string key = "agg.mix" + std::to_string(mixer);
    if (!has_output(key)) continue;
    SCOPED_TRACE(key);
    const auto head = read_mixvpr({"cut.safetensors", WeightFormat::safetensors, tensors});
    for (std::int64_t b = 0; b < x.shape[0]; ++b) {
      const Matrix rows = item_rows(output(key), b);
      const auto mixed = as_eigen(rows.values());
      const EigenVector actual = as_eigen(head->aggregate(features_of(x, b))) * mixed.norm();
      expect_close(to_vector(actual), to_vector(mixed), atol(key));
    }
  }
}

/// The last stage that a file has: MixVPR's networks end before layer4.
std::string last_stage(const TensorFile& file) {
  std::string last;
  for (const auto& [name, stored] : canonical_resnet_names(file)) {
    if (name.starts_with("layer")) last = name.substr(0, name.find('.'));
  }
  return last;
}

TEST_F(MixVprGolden, BehindItsNetwork) {
  const auto file = golden().weights_where(
      [](const TensorFile& held) { return !canonical_resnet_names(held).empty(); });
  if (!file) return leave_out("weights of a network with its aggregator");
  if (!has_input("e2e.image")) return;
  const auto network = backbone(infer_architecture(*file), file->path(), last_stage(*file));
  const auto head = read_mixvpr(*file);
  const bool features_given = has_output("e2e.features"), out_given = has_output("e2e.out");
  for (std::int64_t b = 0; b < input("e2e.image").shape[0]; ++b) {
    const PatchFeatures features = network->extract(pixels_of(input("e2e.image"), b));
    if (features_given) {
      expect_close(features.patches, rows_of_nchw(output("e2e.features"), b), atol("e2e.features"));
    }
    if (out_given) expect_descriptor(head->aggregate(features), "e2e.out", b);
  }
}

}  // namespace
}  // namespace ria
