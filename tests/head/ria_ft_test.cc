// SPDX-License-Identifier: MIT
#include "head/ria_ft.h"

#include <gtest/gtest.h>

#include <limits>

#include "head/heads.h"
#include "ria/eigen.h"
#include "support/ria_ft_random.h"
#include "support/tensor_matrix.h"
#include "support/weights_fixture.h"
#include "tensor/safetensors.h"

namespace ria {
namespace {

constexpr int kDim = 24;

PatchFeatures random_features(int patches, int dim) {
  std::mt19937 engine(7);
  const std::vector<float> values = random_weight(patches, dim, engine).floats();
  return {Matrix(patches, dim, values), patches, 1, {}};
}

/// Of a file whose settings do not matter.
RiaFtSettings plain_settings() {
  RiaFtSettings settings;
  settings.backbone.layer = 0;
  settings.backbone.facet = Facet::kToken;
  return settings;
}

Metadata metadata() { return ria_ft_metadata(plain_settings()); }

TensorFile file_of(TensorMap tensors, Metadata settings = metadata()) {
  return {"ft.safetensors", WeightFormat::safetensors, std::move(tensors), std::move(settings)};
}

Tensor tensor_of(const EigenMatrix& m) {
  return make_tensor({m.rows(), m.cols()}, std::vector<float>(m.data(), m.data() + m.size()));
}

/// What read_ria_ft() says of a file, which must be one line with the file's name.
void expect_refused(const TensorFile& file, const std::string& words) {
  weights_test::expect_error([&] { read_ria_ft(file); }, "ft.safetensors", words);
}

TEST(RiaFt, OneHeadWithoutLayersIsRia) {
  const int d = 8, values = d * (d + 1) / 2;
  const Matrix projection = random_orthogonal(kDim, d, 42);
  const PatchFeatures features = random_features(50, kDim);
  for (const bool normalize : {true, false}) {
    RiaFtSettings settings = plain_settings();
    settings.ria.d = d;
    settings.ria.normalize_patches = normalize;
    settings.ria.tau = 1e-3;
    settings.ria.iterations = 5;
    const Descriptor expected = make_ria(kDim, settings.ria, projection)->aggregate(features);
    TensorMap tensors{{"heads.0.projection.weight", tensor_of(as_eigen(projection).transpose())}};
    const auto check = [&] {
      const auto head = read_ria_ft(file_of(tensors, ria_ft_metadata(settings)));
      ASSERT_EQ(head->dim(), values);
      const Descriptor actual = head->aggregate(features);
      EXPECT_LE((as_eigen(actual) - as_eigen(expected)).cwiseAbs().maxCoeff(), 1e-6);
    };
    check();
    tensors["heads.0.mlp.0.weight"] = tensor_of(EigenMatrix::Identity(values, values));
    tensors["heads.0.mlp.0.bias"] = make_tensor({values}, std::vector<float>(values));
    check();
    // A covariance does not see what is added to every patch.
    tensors["heads.0.projection.bias"] = make_tensor({d}, std::vector<float>(d, 3));
    check();
  }
}

// Every step written down again, without sharing anything between the heads.
TEST(RiaFt, HeadsFollowEachOther) {
  const int d = 6, values = d * (d + 1) / 2;
  const PatchFeatures features = random_features(40, kDim);
  for (const int hidden : {0, 10}) {
    const TensorMap tensors = random_ria_ft_head(kDim, 3, d, hidden, 5, 1);
    RiaOptions options;
    EigenVectorD expected(15);
    for (int h = 0; h < 3; ++h) {
      const std::string name = "heads." + std::to_string(h) + ".";
      const Matrix projection =
          to_matrix(as_eigen(matrix_of(tensors.at(name + "projection.weight"))).transpose());
      const MatrixD c = ria_covariance(features, options, projection);
      EigenVectorD x = as_eigen(vectorize(newton_schulz(c, options.iterations).m));
      ASSERT_EQ(x.size(), values);
      const auto linear = [&](const std::string& layer) {
        x = as_eigen(matrix_of(tensors.at(name + layer + ".weight"))).cast<double>() * x +
            as_eigen(tensors.at(name + layer + ".bias").doubles());
      };
      linear("mlp.0");
      if (hidden > 0) {
        x = x.unaryExpr([](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); });
        linear("mlp.2");
      }
      expected.segment(h * 5, 5) = x;
    }
    const auto head = read_ria_ft(file_of(tensors));
    ASSERT_EQ(head->dim(), 15);
    const Descriptor actual = head->aggregate(features);
    EXPECT_LE((as_eigen(actual) - expected.normalized().cast<float>()).cwiseAbs().maxCoeff(), 1e-6);
    EXPECT_EQ(actual, head->aggregate(features));
  }
}

TEST(RiaFt, DefaultShape) {
  EXPECT_EQ(read_ria_ft(file_of(random_ria_ft_head(128, 4, 64, 32, 520, 1)))->dim(), 2080);
}

TEST(RiaFt, HeadsMayDiffer) {
  TensorMap tensors = random_ria_ft_head(kDim, 1, 6, 0, 5, 1);
  for (auto& [name, tensor] : random_ria_ft_head(kDim, 1, 3, 0, 0, 2)) {
    tensors["heads.1" + name.substr(7)] = tensor;
  }
  EXPECT_EQ(read_ria_ft(file_of(tensors))->dim(), 5 + 6);
}

TEST(RiaFt, SettingsSurviveAFile) {
  const TemporaryFolder folder;
  EXPECT_THROW(ria_ft_metadata({}), std::invalid_argument);
  RiaFtSettings settings;
  settings.ria.tau = 0.1;
  settings.ria.eps = 3e-7;
  settings.ria.iterations = 4;
  settings.ria.normalize_patches = false;
  settings.backbone.layer = 20;
  settings.backbone.facet = Facet::kKey;
  settings.backbone.final_norm = true;
  settings.image_size = 322;
  write_safetensors(folder / "ft.safetensors",
                    random_ria_ft_head(kDim, 2, 4, 0, 0, 3),
                    ria_ft_metadata(settings));
  const TensorFile file = TensorFile::open(folder / "ft.safetensors");
  EXPECT_TRUE(is_ria_ft(file));
  const RiaFtSettings read = read_ria_ft_settings(file);
  EXPECT_EQ(read.ria.tau, 0.1);
  EXPECT_EQ(read.ria.eps, 3e-7);
  EXPECT_EQ(read.ria.iterations, 4);
  EXPECT_FALSE(read.ria.normalize_patches);
  EXPECT_EQ(read.backbone.layer, 20);
  EXPECT_EQ(read.backbone.facet, Facet::kKey);
  EXPECT_TRUE(read.backbone.final_norm);
  EXPECT_EQ(read.image_size, 322);
  EXPECT_EQ(read_ria_ft(file)->dim(), 20);
}

TEST(RiaFt, ConvolutionalNetworksSayTheirCut) {
  RiaFtSettings settings;
  settings.backbone.cut = "layer3.2";
  const Metadata said = ria_ft_metadata(settings);
  EXPECT_EQ(said.count("layer"), 0u);
  const TensorMap tensors = random_ria_ft_head(kDim, 1, 4, 0, 0, 3);
  const RiaFtSettings read = read_ria_ft_settings(file_of(tensors, said));
  EXPECT_EQ(read.backbone.cut, "layer3.2");
  EXPECT_FALSE(read.backbone.layer.has_value());
  Metadata empty = said;
  empty["cut"] = "";
  expect_refused(file_of(tensors, empty), "metadata cut is ");
}

TEST(RiaFt, TensorsThatAreRefused) {
  const TensorMap good = random_ria_ft_head(kDim, 2, 4, 6, 5, 1);
  const auto refused =
      [&](const std::string& name, const Tensor& tensor, const std::string& words) {
        TensorMap tensors = good;
        tensors[name] = tensor;
        expect_refused(file_of(tensors), words);
      };
  const auto missing = [&](const std::string& name, const std::string& words) {
    TensorMap tensors = good;
    ASSERT_EQ(tensors.erase(name), 1u);
    expect_refused(file_of(tensors), words);
  };
  std::mt19937 engine(1);
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  refused("heads.1.projection.weight", random_weight(4, 7, engine), "[any, 24] was expected");
  refused("heads.0.mlp.0.weight",
          random_weight(6, 9, engine),
          "heads.0.mlp.0.weight is [6, 9], [any, 10]");
  refused("heads.0.mlp.2.weight", random_weight(5, 7, engine), "[any, 6]");
  refused(
      "heads.0.mlp.0.bias", random_bias(5, engine), "heads.0.mlp.0.bias is [5], [6] was expected");
  refused("heads.0.mlp.0.bias", make_tensor({6}, {0, 0, nan, 0, 0, 0}), "NaN or infinity");
  refused("heads.0.projection.bias", make_tensor({4}, {0, 0, infinity, 0}), "NaN or infinity");
  refused("heads.0.projection.bias", random_bias(3, engine), "[4] was expected");
  refused("heads.0.projection.weight", make_tensor({0, 24}, {}), "is [0, 24]");
  refused("heads.0.projection.weight", random_bias(24, engine), "is [24]");
  refused("heads.3.projection.weight", random_weight(4, kDim, engine), "no heads.2 before it");
  // A covariance that would have more values than any descriptor.
  refused(
      "heads.0.projection.weight", make_tensor({5000, 24}, std::vector<float>(120000)), "at most");
  missing("heads.0.projection.weight", "holds no RIA-FT head");
  missing("heads.1.projection.weight", "heads.1.projection.weight is missing");
  missing("heads.0.mlp.2.bias", "heads.0.mlp.2.bias is missing");
  missing("heads.0.mlp.0.weight", "has no mlp.0 before it");
}

TEST(RiaFt, SettingsThatAreRefused) {
  const TensorMap good = random_ria_ft_head(kDim, 1, 4, 6, 5, 1);
  const auto refused =
      [&](const std::string& key, const std::string& value, const std::string& words) {
        Metadata settings = metadata();
        settings[key] = value;
        expect_refused(file_of(good, settings), words);
      };
  refused("format", "ria-ft 2", "metadata format is ria-ft 2, ria-ft 1 was expected");
  refused("tau", "-1", "tau is -1");
  refused("tau", "nan", "tau is nan");
  refused("eps", "1e-4x", "metadata eps is 1e-4x, a number was expected");
  refused("iterations", "0", "iterations is 0");
  refused("iterations", "2.5", "iterations is 2.5");
  refused("normalize_patches", "yes", "true or false");
  refused("facet", "tokens", "token, query, key or value");
  refused("layer", "-1", "layer is -1");
  refused("image_size", "-14", "image_size is -14");
  for (const auto& [key, value] : metadata()) {
    Metadata settings = metadata();
    settings.erase(key);
    expect_refused(file_of(good, settings), "metadata " + key + " is missing");
  }
}

TEST(RiaFt, FeaturesThatAreRefused) {
  const auto head = read_ria_ft(file_of(random_ria_ft_head(kDim, 2, 4, 0, 3, 1)));
  EXPECT_THROW(head->aggregate(random_features(5, kDim + 1)), std::invalid_argument);
  EXPECT_THROW(head->aggregate({Matrix(0, kDim), 0, 0, {}}), std::invalid_argument);
}

}  // namespace
}  // namespace ria
