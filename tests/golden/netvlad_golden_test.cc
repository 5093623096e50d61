// SPDX-License-Identifier: MIT
// NetVLAD of pytorch-NetVlad with and without bias, the official MATLAB file with its network and
// whitening, and the start from a vocabulary.
#include "aggregate/heads.h"
#include "aggregate/netvlad.h"
#include "backbone/vgg.h"
#include "golden/head_case.h"
#include "temporary_folder.h"
#include "weights/architecture.h"
#include "weights/matconvnet_vgg.h"
#include "weights/safetensors.h"

namespace ria {
namespace {

const std::string kMatFiles[] = {"netvlad_struct.mat", "netvlad_struct_uncompressed.mat"};

class NetVladGolden : public HeadCase {
 protected:
  NetVladGolden() : HeadCase("netvlad") {}

  void check_nanne(const TensorFile& file, const std::string& key) const {
    const auto head = read_netvlad(file);
    const Tensor& x = input("nanne.x");
    EXPECT_EQ(head->dim(), output(key).shape[1]);
    for (std::int64_t b = 0; b < x.shape[0]; ++b) {
      expect_descriptor(head->aggregate(features_of(x, b)), key, b);
    }
  }

  /// What the network of a MATLAB file makes of the case's picture file.
  PatchFeatures extract(const std::filesystem::path& weights) const {
    const auto network = backbone("vgg16", weights);
    Preprocessing as_it_is = network->preprocessing();
    EXPECT_EQ(as_it_is.normalization, Normalization::kMinusMean);
    EXPECT_EQ(as_it_is.mean, (std::array<float, 3>{123.68f, 116.779f, 103.939f}));
    as_it_is.longest_side = 0;
    return network->extract(preprocess(load_image(folder_ / "image.png"), as_it_is));
  }
};

TEST_F(NetVladGolden, PytorchNetVlad) {
  const TensorFile file = open("nanne_weights.safetensors");
  check_nanne(renamed(file, "nanne.", ""), "nanne");
  check_nanne(renamed(file, "nanne_v2.", ""), "nanne_v2");
  check_nanne(renamed(file, "nanne.", "module."), "nanne");
  check_nanne(open("nanne_checkpoint.pth.tar"), "nanne");
}

TEST_F(NetVladGolden, BenchmarkNamesAreTheSameHead) {
  const TensorFile file = open("nanne_weights.safetensors");
  check_nanne(renamed(file, "nanne.pool.", "aggregation."), "nanne");
  check_nanne(renamed(file, "nanne.pool.", "module.aggregation."), "nanne");
}

TEST_F(NetVladGolden, MatlabFileWithItsNetwork) {
  for (const std::string& name : kMatFiles) {
    SCOPED_TRACE(name);
    const TensorFile file = open(name);
    EXPECT_EQ(infer_architecture(file), "vgg16");
    const PatchFeatures features = extract(folder_ / name);
    EXPECT_EQ(features.grid_height, output("hloc.backbone").shape[2]);
    EXPECT_EQ(features.grid_width, output("hloc.backbone").shape[3]);
    expect_close(features.patches, rows_of_nchw(output("hloc.backbone"), 0), atol("hloc.backbone"));
    expect_descriptor(read_netvlad(file, false)->aggregate(features), "hloc.vlad", 0);
    expect_descriptor(read_netvlad(file)->aggregate(features), "hloc.whiten", 0);
    // The head alone, on the features of the case.
    const PatchFeatures given = features_of(output("hloc.backbone"), 0);
    expect_descriptor(read_netvlad(file, false)->aggregate(given), "hloc.vlad", 0);
    expect_descriptor(read_netvlad(file)->aggregate(given), "hloc.whiten", 0);
  }
}

// As the weight cache keeps it: the same names in another container.
TEST_F(NetVladGolden, MatlabFileImportedAsSafetensors) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "netvlad.safetensors";
  write_safetensors(file, open(kMatFiles[0]).tensors());
  expect_descriptor(
      read_netvlad(TensorFile::open(file))->aggregate(extract(file)), "hloc.whiten", 0);
}

TEST_F(NetVladGolden, PixelsAreThoseOfTheCase) {
  Preprocessing options;
  options.normalization = Normalization::kMinusMean;
  options.mean = {123.68f, 116.779f, 103.939f};
  const Pixels pixels = preprocess(load_image(folder_ / "image.png"), options);
  Pixels expected = pixels_of(input("hloc.image01"));
  const std::size_t area = expected.chw.size() / 3;
  for (std::size_t i = 0; i < expected.chw.size(); ++i) {
    expected.chw[i] = expected.chw[i] * 255 - options.mean[i / area];
    ASSERT_NEAR(pixels.chw[i], expected.chw[i], 1e-4) << i;
  }
}

// Patch-NetVLAD is pytorch-NetVlad with the linear layer that the MATLAB file has turned over.
TEST_F(NetVladGolden, PatchNetVladWhitening) {
  const TensorFile file = open("nanne_weights.safetensors");
  TensorMap tensors = renamed(file, "nanne.", "").tensors();
  const TensorFile plain("plain.pth", WeightFormat::torch, tensors);
  const int values = read_netvlad(plain)->dim();
  Matrix w = Matrix::Random(5, values);
  const Vector bias = Vector::Random(5);
  tensors["WPCA.0.weight"] =
      make_tensor({5, values, 1, 1}, std::vector<float>(w.data(), w.data() + w.size()));
  tensors["WPCA.0.bias"] = make_tensor({5}, std::vector<float>(bias.data(), bias.data() + 5));
  const TensorFile whitened("wpca.pth", WeightFormat::torch, tensors);
  EXPECT_EQ(read_netvlad(whitened)->dim(), 5);
  EXPECT_EQ(read_netvlad(whitened, false)->dim(), values);
  const PatchFeatures x = features_of(input("nanne.x"), 0);
  const Descriptor expected = (w * row_of(output("nanne"), 0) + bias).normalized();
  expect_close(read_netvlad(whitened)->aggregate(x), expected, 2e-6);
}

TEST_F(NetVladGolden, StartFromAVocabulary) {
  const auto matrix = [](const Tensor& tensor) -> Matrix {
    const std::vector<float> values = tensor.floats();
    return Eigen::Map<const Matrix>(values.data(), tensor.shape.at(0), tensor.shape.at(1));
  };
  const Matrix centres = matrix(input("init.clusters"));
  const double alpha = netvlad_alpha(matrix(input("init.descriptors")), centres);
  const double expected = output("init.alpha").doubles().at(0);
  const auto rtol = [&](const char* key) -> double {
    return info_.at("tolerance").at(key).at("rtol");
  };
  EXPECT_NEAR(alpha, expected, rtol("init.alpha") * expected);
  const NetVladWeights weights = netvlad_of_vocabulary(centres, alpha);
  const Matrix scores = matrix(output("init.conv_weight"));
  ASSERT_EQ(weights.score.size(), scores.size());
  EXPECT_LE(((weights.score - scores).array().abs() / scores.array().abs()).maxCoeff(),
            rtol("init.conv_weight"));
  EXPECT_EQ(weights.centroids, matrix(output("init.centroids")));
  EXPECT_EQ(make_netvlad_from_vocabulary(centres, alpha)->dim(), centres.size());
}

}  // namespace
}  // namespace ria
