// SPDX-License-Identifier: MIT
// What training computes with LibTorch: loss, root and networks as the cases and the native engine
// say.
#include <set>

#include "backbone/backbone_weights.h"
#include "golden/dinov2_cases.h"
#include "golden/pixels.h"
#include "head/heads.h"
#include "ria/aggregator.h"
#include "support/temporary_folder.h"
#include "support/torch_engine.h"
#include "train/network.h"

namespace ria {
namespace {

MatrixD doubles_of(const Tensor& tensor, std::int64_t b = -1) {
  const std::vector<double> values = tensor.doubles();
  const auto columns = tensor.shape.back();
  if (b < 0) {
    return {static_cast<int>(tensor.size() / columns), static_cast<int>(columns), values};
  }
  const auto each = tensor.size() / tensor.shape[0];
  return {static_cast<int>(each / columns),
          static_cast<int>(columns),
          std::vector<double>(values.begin() + b * each, values.begin() + (b + 1) * each)};
}

class MsLossGolden : public GoldenCaseTest {
 protected:
  MsLossGolden() : GoldenCaseTest("ms_loss") {}
};

TEST_F(MsLossGolden, PairsLossAndGradient) {
  RIA_NEEDS_TORCH;
  for (const auto& [group, settings] : config().items()) {
    std::vector<std::int64_t> labels;
    for (const double label : input(group + ".labels").doubles()) {
      labels.push_back(static_cast<std::int64_t>(label));
    }
    const MatrixD descriptors = doubles_of(input(group + ".embeddings"));
    for (const bool mined : {true, false}) {
      EngineOptions options;
      if (!mined) options.miner_eps = -1;
      const auto result = torch_functions().multi_similarity(descriptors, labels, options);
      const std::string end = mined ? "" : "_all_pairs";
      EXPECT_NEAR(
          result.loss, output(group + ".loss" + end).doubles()[0], atol(group + ".loss" + end));
      EXPECT_LE((as_eigen(result.gradient) - as_eigen(doubles_of(output(group + ".grad" + end))))
                    .cwiseAbs()
                    .maxCoeff(),
                atol(group + ".grad" + end));
      if (!mined) continue;
      const char* names[] = {".mined.a1", ".mined.p", ".mined.a2", ".mined.n"};
      for (const int first : {0, 2}) {
        std::set<std::pair<std::int64_t, std::int64_t>> own, expected;
        for (std::size_t i = 0; i < result.pairs[first].size(); ++i) {
          own.emplace(result.pairs[first][i], result.pairs[first + 1][i]);
        }
        const auto a = output(group + names[first]).doubles();
        const auto b = output(group + names[first + 1]).doubles();
        for (std::size_t i = 0; i < a.size(); ++i) expected.emplace(a[i], b[i]);
        EXPECT_EQ(own, expected) << group << names[first];
      }
    }
  }
}

class IsqrtGolden : public GoldenCaseTest {
 protected:
  IsqrtGolden() : GoldenCaseTest("isqrt") {}
};

TEST_F(IsqrtGolden, RootAndItsBackward) {
  RIA_NEEDS_TORCH;
  for (const auto& dims : config().at("dims")) {
    const std::string d = "d" + std::to_string(dims.at(0).get<int>());
    for (const int iterations : config().at("iterN").get<std::vector<int>>()) {
      const std::string key = d + ".it" + std::to_string(iterations) + ".";
      const Tensor& covariances = output(d + ".it1.cov");
      for (std::int64_t b = 0; b < covariances.shape[0]; ++b) {
        const auto result = torch_functions().newton_schulz(
            doubles_of(covariances, b), doubles_of(output(key + "grad_sqrt"), b), iterations, true);
        const auto error = [&](const MatrixD& own, const MatrixD& expected) {
          return (as_eigen(own) - as_eigen(expected)).cwiseAbs().maxCoeff();
        };
        EXPECT_LE(error(result.root, doubles_of(output(key + "sqrt"), b)), atol(key + "sqrt"))
            << key;
        // The hand-written formula of the case is not symmetric; covariances only see this part.
        const EigenMatrixD own = as_eigen(result.gradient);
        const EigenMatrixD theirs = as_eigen(doubles_of(output(key + "grad_cov"), b));
        EXPECT_LE(((own + own.transpose()) - (theirs + theirs.transpose())).cwiseAbs().maxCoeff(),
                  2 * atol(key + "grad_cov"))
            << key;
      }
    }
  }
}

Descriptor native(const TensorFile& file, const Pixels& pixels) {
  const BackboneOptions options = read_ria_ft_settings(file).backbone;
  const auto backbone = make_backbone(BackboneWeights{backbone_in(file), file, ""}, options);
  return read_ria_ft(file)->aggregate(backbone->extract(pixels));
}

/// A network's files and a picture each, from whatever cases are there.
struct NetworkCase {
  std::filesystem::path weights;
  Pixels pixels;
};

std::vector<NetworkCase> network_cases() {
  std::vector<NetworkCase> out;
  for (const char* name :
       {"dinov2_mlp", "dinov2_reg", "dinov2_swiglu", "dino_v1", "resnet", "vgg16"}) {
    if (!std::filesystem::exists(golden_dir() / name / "case.json")) continue;
    const GoldenCase golden(name);
    for (const auto& file : golden.weight_files()) {
      const Tensor* smallest = nullptr;
      for (const auto& [key, tensor] : golden.inputs().tensors()) {
        if (tensor.shape.size() != 4 || tensor.shape[1] != 3 || key.starts_with("stride")) continue;
        if (smallest == nullptr || tensor.size() < smallest->size()) smallest = &tensor;
      }
      if (smallest != nullptr) out.push_back({file, pixels_of(*smallest)});
    }
  }
  return out;
}

TrainOptions small_options() {
  TrainOptions options;
  options.unfreeze = 1;
  options.heads = 2;
  options.d = 12;
  options.mlp = 10;
  return options;
}

TrainBatch batch_of(const TrainNetwork& network, const Pixels& pixels) {
  EntryValues entered = network.frozen->run(pixels);
  TrainBatch batch;
  batch.count = 1;
  batch.height = entered.height;
  batch.width = entered.width;
  batch.channels = entered.channels;
  batch.values = std::move(entered.values);
  batch.labels = {0};
  batch.positions = network.frozen->positions(pixels.height, pixels.width);
  return batch;
}

/// The tensors with an MLP that is a random linear map, as training starts.
std::vector<NamedTensor> started(const TrainNetwork& network) {
  std::vector<NamedTensor> all = network.tensors;
  for (int h = 0; h < static_cast<int>(network.shape.heads.size()); ++h) {
    const HeadShape& head = network.shape.heads[h];
    if (head.out == 0) continue;
    const Matrix q = random_orthogonal(head.d * (head.d + 1) / 2, head.out, 9);
    for (NamedTensor& made : linear_mlp(h, head, to_matrix(as_eigen(q).transpose()), 1)) {
      for (NamedTensor& old : all) {
        if (old.name == made.name) old = std::move(made);
      }
    }
  }
  return all;
}

TEST(TrainGolden, UntrainedHeadIsRia) {
  const TemporaryFolder folder;
  const auto cases = network_cases();
  if (cases.empty()) GTEST_SKIP() << "no golden cases of networks";
  for (const NetworkCase& one : cases) {
    SCOPED_TRACE(one.weights.string());
    TrainOptions options = small_options();
    options.heads = 1;
    options.mlp = 0;
    const TensorFile file = TensorFile::open(one.weights);
    const BackboneWeights weights{backbone_in(file), file, ""};
    const TrainNetwork network = make_train_network(weights, options);
    write_ria_ft(folder / "model.safetensors", network, network.tensors);
    const TensorFile written = TensorFile::open(folder / "model.safetensors");
    const auto backbone = make_backbone(weights, network.settings.backbone);
    RiaOptions ria;
    ria.d = options.d;
    const Descriptor expected =
        make_ria(backbone->dim(), ria)->aggregate(backbone->extract(one.pixels));
    expect_close(native(written, one.pixels), expected, 2e-5);
    // Written again from what was written.
    const TrainNetwork again =
        make_train_network(BackboneWeights{backbone_in(written), written, ""}, options);
    write_ria_ft(folder / "again.safetensors", again, again.tensors);
    expect_close(
        native(TensorFile::open(folder / "again.safetensors"), one.pixels), expected, 2e-5);
  }
}

TEST(TrainGolden, LibTorchComputesWhatTheNativeEngineDoes) {
  RIA_NEEDS_TORCH;
  const TemporaryFolder folder;
  const auto cases = network_cases();
  if (cases.empty()) GTEST_SKIP() << "no golden cases of networks";
  for (const NetworkCase& one : cases) {
    const TensorFile file = TensorFile::open(one.weights);
    for (const bool facet : {false, true}) {
      TrainOptions options = small_options();
      const BackboneWeights weights{backbone_in(file), file, ""};
      if (facet && !weights.name.starts_with("dino")) continue;
      if (facet) options.network.facet = Facet::kKey;
      for (const bool from_pixels : {true, false}) {
        SCOPED_TRACE(one.weights.string() + (facet ? " key" : "") + (from_pixels ? " pixels" : ""));
        const TrainNetwork network = make_train_network(weights, options, from_pixels);
        const auto tensors = started(network);
        const auto engine =
            torch_functions().make(network.shape, tensors, network.trained, EngineOptions());
        const TrainBatch batch = batch_of(network, one.pixels);
        const auto backbone = make_backbone(weights, network.settings.backbone);
        const Matrix expected = backbone->extract(one.pixels).patches;
        const double size = as_eigen(expected).cwiseAbs().maxCoeff();
        expect_close(engine->features(batch), expected, 1e-4 * std::max(1.0, size));
        write_ria_ft(folder / "model.safetensors", network, engine->tensors());
        const Descriptor written =
            native(TensorFile::open(folder / "model.safetensors"), one.pixels);
        const Matrix own = engine->embed(batch);
        expect_close(Descriptor(own.values().begin(), own.values().end()), written, 1e-4);
      }
    }
  }
}

TEST(TrainGolden, TrainedFilesRunNatively) {
  RIA_NEEDS_TORCH;
  const TemporaryFolder folder;
  const auto cases = network_cases();
  if (cases.empty()) GTEST_SKIP() << "no golden cases of networks";
  for (const NetworkCase& one : cases) {
    SCOPED_TRACE(one.weights.string());
    const TensorFile file = TensorFile::open(one.weights);
    const BackboneWeights weights{backbone_in(file), file, ""};
    const TrainNetwork network = make_train_network(weights, small_options());
    const auto engine =
        torch_functions().make(network.shape, started(network), network.trained, EngineOptions());
    TrainBatch batch = batch_of(network, one.pixels);
    const TrainBatch single = batch;
    // Four pictures of two places: the same with some noise.
    for (int i = 1; i < 4; ++i) {
      const auto noise = random_values(single.values.size(), 0.3f, i);
      for (std::size_t v = 0; v < noise.size(); ++v) {
        batch.values.push_back(single.values[v] * (1 + noise[v]));
      }
    }
    batch.count = 4;
    batch.labels = {0, 0, 1, 1};
    const Matrix before = engine->embed(single);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(engine->step(batch, 1e-3, 1e-3).finite);
    const Matrix after = engine->embed(single);
    EXPECT_GT((as_eigen(before) - as_eigen(after)).norm(), 1e-3);
    write_ria_ft(folder / "model.safetensors", network, engine->tensors());
    const Descriptor written = native(TensorFile::open(folder / "model.safetensors"), one.pixels);
    expect_close(Descriptor(after.values().begin(), after.values().end()), written, 1e-4);
  }
}

}  // namespace
}  // namespace ria
