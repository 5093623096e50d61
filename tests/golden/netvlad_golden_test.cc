// SPDX-License-Identifier: MIT
// NetVLAD of pytorch-NetVlad with and without bias, the official MATLAB file with its network and
// whitening, and the start from a vocabulary.
#include "aggregate/netvlad.h"
#include "golden/head_case.h"
#include "head/heads.h"
#include "support/temporary_folder.h"
#include "support/tensor_matrix.h"
#include "tensor/safetensors.h"
#include "weights/architecture.h"

namespace ria {
namespace {

class NetVladGolden : public HeadCase {
 protected:
  NetVladGolden() : HeadCase("netvlad") {}

  void check_nanne(const TensorFile& file, const std::string& key) {
    if (!has_input("nanne.x") || !has_output(key)) return;
    const auto head = read_netvlad(file);
    const Tensor& x = input("nanne.x");
    EXPECT_EQ(head->dim(), output(key).shape[1]);
    for (std::int64_t b = 0; b < x.shape[0]; ++b) {
      expect_descriptor(head->aggregate(features_of(x, b)), key, b);
    }
  }

  /// The heads of pytorch-NetVlad, one behind the name of each output.
  std::optional<TensorFile> nanne() {
    auto file = golden().weights_where(
        [](const TensorFile& held) { return held.contains("nanne.pool.centroids"); });
    if (!file) leave_out("weights behind nanne.");
    return file;
  }

  /// The official file in every form that is there; case.json does not list them all.
  std::vector<std::filesystem::path> mat_files() {
    const auto files = golden().files_like("", ".mat");
    if (files.empty()) leave_out("a .mat file");
    return files;
  }

  /// What the file itself has as the mean of its pictures.
  static std::array<float, 3> mean_of(const TensorFile& file) {
    const auto values = file.at("net.meta.normalization.averageImage").floats();
    return {values.at(0), values.at(1), values.at(2)};
  }

  /// What the network of a MATLAB file makes of the case's picture file.
  PatchFeatures extract(const std::filesystem::path& weights) const {
    const auto network = backbone("vgg16", weights);
    Preprocessing as_it_is = network->preprocessing();
    EXPECT_EQ(as_it_is.normalization, Normalization::kMinusMean);
    EXPECT_EQ(as_it_is.mean, mean_of(TensorFile::open(weights)));
    as_it_is.longest_side = 0;
    return network->extract(preprocess(load_image(folder() / "image.png"), as_it_is));
  }
};

TEST_F(NetVladGolden, PytorchNetVlad) {
  if (const auto file = nanne()) {
    for (const std::string key : {"nanne", "nanne_v2"}) {
      const TensorFile held = renamed(*file, key + ".", "");
      if (held.names().empty()) {
        leave_out("weights behind " + key + ".");
        continue;
      }
      check_nanne(held, key);
      check_nanne(renamed(held, "", "module."), key);
    }
  }
  const auto checkpoint = golden().weights_where(
      [](const TensorFile& held) { return held.contains("pool.centroids"); });
  if (!checkpoint) return leave_out("a checkpoint of pytorch-NetVlad");
  check_nanne(*checkpoint, "nanne");
}

TEST_F(NetVladGolden, BenchmarkNamesAreTheSameHead) {
  const auto file = nanne();
  if (!file) return;
  check_nanne(renamed(*file, "nanne.pool.", "aggregation."), "nanne");
  check_nanne(renamed(*file, "nanne.pool.", "module.aggregation."), "nanne");
}

TEST_F(NetVladGolden, MatlabFileWithItsNetwork) {
  if (!has_output("hloc.backbone")) return;
  const bool plain = has_output("hloc.vlad"), whitened = has_output("hloc.whiten");
  for (const std::filesystem::path& path : mat_files()) {
    SCOPED_TRACE(path.filename().string());
    const TensorFile file = TensorFile::open(path);
    EXPECT_EQ(infer_architecture(file), "vgg16");
    const PatchFeatures features = extract(path);
    EXPECT_EQ(features.grid_height, output("hloc.backbone").shape[2]);
    EXPECT_EQ(features.grid_width, output("hloc.backbone").shape[3]);
    expect_close(features.patches, rows_of_nchw(output("hloc.backbone"), 0), atol("hloc.backbone"));
    // Behind the network, and the head alone on the features of the case.
    for (const PatchFeatures& x : {features, features_of(output("hloc.backbone"), 0)}) {
      if (plain) expect_descriptor(read_netvlad(file, false)->aggregate(x), "hloc.vlad", 0);
      if (whitened) expect_descriptor(read_netvlad(file)->aggregate(x), "hloc.whiten", 0);
    }
  }
}

// As the weight cache keeps it: the same names in another container.
TEST_F(NetVladGolden, MatlabFileImportedAsSafetensors) {
  const auto files = mat_files();
  if (files.empty() || !has_output("hloc.whiten")) return;
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "netvlad.safetensors";
  write_safetensors(file, TensorFile::open(files.front()).tensors());
  expect_descriptor(
      read_netvlad(TensorFile::open(file))->aggregate(extract(file)), "hloc.whiten", 0);
}

TEST_F(NetVladGolden, PixelsAreThoseOfTheCase) {
  const auto files = mat_files();
  if (files.empty() || !has_input("hloc.image01")) return;
  Preprocessing options;
  options.normalization = Normalization::kMinusMean;
  options.mean = mean_of(TensorFile::open(files.front()));
  const Pixels pixels = preprocess(load_image(folder() / "image.png"), options);
  Pixels expected = pixels_of(input("hloc.image01"));
  ASSERT_EQ(pixels.chw.size(), expected.chw.size());
  const std::size_t area = expected.chw.size() / 3;
  for (std::size_t i = 0; i < expected.chw.size(); ++i) {
    expected.chw[i] = expected.chw[i] * 255 - options.mean[i / area];
    ASSERT_NEAR(pixels.chw[i], expected.chw[i], 1e-4) << i;
  }
}

// Patch-NetVLAD is pytorch-NetVlad with the linear layer that the MATLAB file has turned over.
TEST_F(NetVladGolden, PatchNetVladWhitening) {
  const auto file = nanne();
  if (!file || !has_input("nanne.x") || !has_output("nanne")) return;
  TensorMap tensors = renamed(*file, "nanne.", "").tensors();
  const TensorFile plain("plain.pth", WeightFormat::torch, tensors);
  const int values = read_netvlad(plain)->dim();
  const EigenMatrix w = EigenMatrix::Random(5, values);
  const EigenVector bias = EigenVector::Random(5);
  tensors["WPCA.0.weight"] =
      make_tensor({5, values, 1, 1}, std::vector<float>(w.data(), w.data() + w.size()));
  tensors["WPCA.0.bias"] = make_tensor({5}, std::vector<float>(bias.data(), bias.data() + 5));
  const TensorFile whitened("wpca.pth", WeightFormat::torch, tensors);
  EXPECT_EQ(read_netvlad(whitened)->dim(), 5);
  EXPECT_EQ(read_netvlad(whitened, false)->dim(), values);
  const PatchFeatures x = features_of(input("nanne.x"), 0);
  const EigenVector expected = (w * as_eigen(row_of(output("nanne"), 0)) + bias).normalized();
  expect_close(read_netvlad(whitened)->aggregate(x), to_vector(expected), 2e-6);
}

TEST_F(NetVladGolden, StartFromAVocabulary) {
  if (!has_input("init.clusters") || !has_input("init.descriptors")) return;
  const Matrix centres = matrix_of(input("init.clusters"));
  const double alpha = netvlad_alpha(as_eigen(matrix_of(input("init.descriptors"))), centres);
  const auto rtol = [&](const char* key) -> double {
    return golden().info().at("tolerance").at(key).at("rtol");
  };
  if (has_output("init.alpha")) {
    const double expected = output("init.alpha").doubles().at(0);
    EXPECT_NEAR(alpha, expected, rtol("init.alpha") * expected);
  }
  const NetVladWeights weights = netvlad_of_vocabulary(centres, alpha);
  if (has_output("init.conv_weight")) {
    const EigenMatrix scores = as_eigen(matrix_of(output("init.conv_weight")));
    ASSERT_EQ(static_cast<Eigen::Index>(weights.score.size()), scores.size());
    EXPECT_LE(((as_eigen(weights.score) - scores).array().abs() / scores.array().abs()).maxCoeff(),
              rtol("init.conv_weight"));
  }
  if (has_output("init.centroids")) {
    expect_close(weights.centroids, matrix_of(output("init.centroids")), atol("init.centroids"));
  }
  EXPECT_EQ(make_netvlad_from_vocabulary(centres, alpha)->dim(), static_cast<int>(centres.size()));
}

}  // namespace
}  // namespace ria
