// SPDX-License-Identifier: MIT
// Every file layout, input and cut that the case lists.
#include "backbone/vgg.h"
#include "golden/feature_rows.h"
#include "golden/golden_case.h"
#include "golden/keras_names.h"
#include "golden/tensor_names.h"
#include "weights/architecture.h"
#include "weights/keras_vgg.h"

namespace ria {
namespace {

class VggGolden : public GoldenCaseTest {
 protected:
  VggGolden() : GoldenCaseTest("vgg16") {}

  /// The first file, under torchvision's names.
  TensorFile weights() const {
    const TensorFile file = TensorFile::open(golden().weight_files().at(0));
    return renamed(file, common_prefix(file), "features.");
  }
  Pixels pixels(const std::string& key, std::int64_t b = 0) const {
    return pixels_of(input(key.substr(0, key.find('.'))), b);
  }
  /// Any of the case's pictures.
  Pixels picture() const { return pixels(golden().inputs().names().at(0)); }

  /// Every output "<input>.<cut>".
  void check(const TensorFile& file) const {
    SCOPED_TRACE(file.path().filename().string());
    EXPECT_EQ(infer_architecture(file), "vgg16");
    ASSERT_FALSE(golden().outputs().names().empty());
    for (const auto& [key, expected] : golden().outputs().tensors()) {
      const std::string cut = key.substr(key.find('.') + 1);
      for (std::int64_t b = 0; b < expected.shape.at(0); ++b) {
        SCOPED_TRACE(key + " item " + std::to_string(b));
        expect_map(run_plan(plan_vgg(file, cut), pixels(key, b)), expected, b, atol(key));
      }
    }
  }
};

TEST_F(VggGolden, EveryCutFromEveryFile) {
  ASSERT_FALSE(golden().weight_files().empty());
  for (const auto& file : golden().weight_files()) {
    EXPECT_NO_THROW(check(TensorFile::open(file))) << file;
  }
}

TEST_F(VggGolden, EveryPublishedPrefix) {
  for (const std::string prefix : {"features.", "encoder.", "module.encoder.", "model.features."}) {
    SCOPED_TRACE(prefix);
    check(renamed(weights(), "features.", prefix));
  }
}

TEST_F(VggGolden, KerasLayoutConverts) {
  TensorMap keras;
  int block = 1, place = 0, before = -2;
  const TensorFile torch = weights();
  for (const auto& module : config().at("conv_indices")) {
    const int number = module.get<int>();
    const bool pooled = number != before + 2;
    block += pooled ? 1 : 0;
    place = pooled ? 1 : place + 1;
    before = number;
    const std::string from = "features." + std::to_string(number);
    const std::string to = "block" + std::to_string(block) + "_conv" + std::to_string(place);
    keras[to + "/kernel"] = to_hwio(torch.at(from + ".weight"));
    keras[to + "/bias"] = torch.at(from + ".bias");
  }
  keras["fc1/kernel"] = make_tensor({1}, {1});
  const TensorFile file("keras.safetensors", WeightFormat::safetensors, std::move(keras));
  ASSERT_TRUE(is_keras_vgg(file));
  EXPECT_EQ(infer_architecture(file), "vgg16");
  const TensorFile converted = convert_keras_vgg(file);
  EXPECT_EQ(converted.metadata().at("normalization"), "caffe");
  check(converted);
}

// Module numbers are torchvision's of VGG16.
TEST_F(VggGolden, NumbersReluAndPoolsAreTheSamePlaces) {
  const TensorFile file = weights();
  const auto at = [&](const std::string& cut) { return run_plan(plan_vgg(file, cut), picture()); };
  EXPECT_EQ(at("28").hwc, at("conv5_3").hwc);
  EXPECT_EQ(at("16").hwc, at("pool3").hwc);
  EXPECT_EQ(at("30").hwc, at("pool5").hwc);
  EXPECT_EQ(at("3").hwc, at("relu1_2").hwc);
  const EigenMatrix before = as_eigen(rows_of(at("conv4_2")));
  EXPECT_LT(before.minCoeff(), 0);
  EXPECT_EQ(rows_of(at("relu4_2")), to_matrix(before.cwiseMax(0.0f)));
  EXPECT_EQ(at("pool5").height, picture().height / 32);
  EXPECT_EQ(at("pool5").width, picture().width / 32);
}

// A batch norm behind a convolution of the same file, folded, equals the norm applied outside.
TEST_F(VggGolden, BatchNormFolds) {
  TensorMap plain, normed;
  const TensorFile file = weights();
  const auto convolution = [&](TensorMap& to, int module, int from) {
    for (const char* variable : {".weight", ".bias"}) {
      to["features." + std::to_string(module) + variable] =
          file.at("features." + std::to_string(from) + variable);
    }
  };
  convolution(plain, 0, 0);
  convolution(plain, 2, 2);
  convolution(normed, 0, 0);
  convolution(normed, 3, 2);
  const auto channels = file.at("features.0.bias").shape[0];
  const auto filled = [&](float first, float step) {
    std::vector<float> values(static_cast<std::size_t>(channels));
    for (float& value : values) value = first, first += step;
    return make_tensor({channels}, values);
  };
  for (const std::string norm : {"features.1.", "features.4."}) {
    normed[norm + "weight"] = filled(0.5f, 0.25f);
    normed[norm + "bias"] = filled(-0.25f, 0.125f);
    normed[norm + "running_mean"] = filled(0.1f, -0.05f);
    normed[norm + "running_var"] = filled(0.7f, 0.3f);
  }
  const EigenMatrix raw = as_eigen(rows_of(run_plan(
      plan_vgg({"plain.safetensors", WeightFormat::safetensors, plain}, "conv1_1"), picture())));
  const EigenMatrix folded = as_eigen(rows_of(run_plan(
      plan_vgg({"bn.safetensors", WeightFormat::safetensors, normed}, "conv1_1"), picture())));
  for (Eigen::Index c = 0; c < raw.cols(); ++c) {
    const auto k = static_cast<float>(c);
    const float scale = (0.5f + 0.25f * k) / std::sqrt(0.7f + 0.3f * k + 1e-5f);
    const auto expected = (raw.col(c).array() - (0.1f - 0.05f * k)) * scale - 0.25f + 0.125f * k;
    EXPECT_LE((folded.col(c).array() - expected).abs().maxCoeff(), 1e-5f) << c;
  }
}

TEST_F(VggGolden, Int8PointsTheSameWay) {
  const TensorFile file = weights();
  for (const auto& [key, expected] : golden().outputs().tensors()) {
    const FeatureMap map =
        run_plan(plan_vgg(file, key.substr(key.find('.') + 1)), pixels(key), Precision::kInt8);
    EXPECT_GE(cosine(rows_of(map), rows_of_nchw(expected, 0)), 0.995) << key;
  }
}

}  // namespace
}  // namespace ria
