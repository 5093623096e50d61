// SPDX-License-Identifier: MIT
// From a Keras download to the weights in the cache.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "golden/golden_case.h"
#include "support/cache_in.h"
#include "support/weights_fixture.h"
#include "tensor/safetensors.h"
#include "util/hash.h"
#include "weights/architecture.h"
#include "weights/keras_resnet.h"

namespace ria::weights_test {
namespace {

using nlohmann::json;

json keras_model(const TensorMap& tensors, const std::vector<std::string>& shards) {
  json weights = json::array();
  for (const auto& [name, tensor] : tensors) {
    weights.push_back({{"name", name}, {"shape", tensor.shape}, {"dtype", "float32"}});
  }
  return {{"generatedBy", "keras"},
          {"weightsManifest", {{{"paths", shards}, {"weights", weights}}}}};
}

void add_keras_layer(TensorMap& tensors,
                     const std::string& convolution,
                     const std::string& norm,
                     std::int64_t in,
                     std::int64_t out,
                     std::int64_t size) {
  auto fill = [seed = 0.5f](std::int64_t count) mutable {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = seed += 0.25f;
    return values;
  };
  tensors[convolution + "/kernel"] =
      make_tensor({size, size, in, out}, fill(size * size * in * out));
  tensors[convolution + "/bias"] = make_tensor({out}, fill(out));
  for (const char* variable : {"gamma", "beta", "moving_mean", "moving_variance"}) {
    tensors[norm + "/" + variable] = make_tensor({out}, fill(out));
  }
}

TensorMap small_keras_resnet() {
  TensorMap tensors;
  add_keras_layer(tensors, "conv1", "bn_conv1", 3, 4, 7);
  for (const std::string block : {"2a", "2b"}) {
    add_keras_layer(tensors, "res" + block + "_branch2a", "bn" + block + "_branch2a", 4, 2, 1);
    add_keras_layer(tensors, "res" + block + "_branch2b", "bn" + block + "_branch2b", 2, 2, 3);
    add_keras_layer(tensors, "res" + block + "_branch2c", "bn" + block + "_branch2c", 2, 8, 1);
  }
  add_keras_layer(tensors, "res2a_branch1", "bn2a_branch1", 4, 8, 1);
  tensors["fc1000/kernel"] = make_tensor({1}, {1});
  tensors["fc1000/bias"] = make_tensor({1}, {1});
  return tensors;
}

class Tfjs : public Weights {
 protected:
  /// Two shards, cut inside a tensor.
  void write_model(const TensorMap& tensors) {
    std::string data;
    for (const auto& [name, tensor] : tensors)
      data.append(tensor.bytes.begin(), tensor.bytes.end());
    write("s1.bin", data.substr(0, data.size() / 2 + 1));
    write("s2.bin", data.substr(data.size() / 2 + 1));
    write("model.json", keras_model(tensors, {"s1.bin", "s2.bin"}).dump());
  }
};

TEST_F(Tfjs, ReadsShards) {
  write_model(small_keras_resnet());
  const TensorFile model = TensorFile::open(file("model.json"));
  EXPECT_EQ(model.format(), WeightFormat::tfjs);
  EXPECT_TRUE(same_tensors(model.tensors(), small_keras_resnet()));
}

TEST_F(Tfjs, RefusesWrongShards) {
  const TensorMap tensors = small_keras_resnet();
  write_model(tensors);
  const std::string half = read_text(file("s2.bin"));
  write("s2.bin", half.substr(1));
  expect_open_error(file("model.json"), "beyond its shards");
  write("s2.bin", half + "x");
  expect_open_error(file("model.json"), "the shards have");
  fs::remove(file("s2.bin"));
  expect_open_error(file("model.json"), "s2.bin is missing");
  for (const std::string shard : {"/etc/passwd", "../s1.bin", "a/../../s1.bin", ""}) {
    write("model.json", keras_model(tensors, {shard}).dump());
    expect_open_error(file("model.json"), "outside its folder");
  }
  json model = keras_model(tensors, {"s1.bin"});
  model["weightsManifest"][0]["weights"][0]["shape"] = {4611686018427387904, 16};
  write("model.json", model.dump());
  expect_open_error(file("model.json"), "beyond its shards");
  model["weightsManifest"][0]["weights"][0]["quantization"] = json::object();
  write("model.json", model.dump());
  expect_open_error(file("model.json"), "quantized");
  write("model.json", R"({"weightsManifest": [1]})");
  expect_open_error(file("model.json"), "weightsManifest");
  write("model.json", R"({"some": "json"})");
  expect_open_error(file("model.json"), "weightsManifest");
}

TEST_F(Tfjs, KerasBecomesTorchvision) {
  write_model(small_keras_resnet());
  const TensorFile keras = TensorFile::open(file("model.json"));
  ASSERT_TRUE(is_keras_resnet(keras));
  const TensorFile converted = convert_keras_resnet(keras);
  EXPECT_EQ(converted.names().size(), 8u * 5u);
  EXPECT_EQ(infer_architecture(keras), "resnet");
  EXPECT_EQ(infer_architecture(converted), "resnet");
  EXPECT_EQ(converted.metadata().at("stride"), "first");
  const Tensor& kernel = converted.at("layer1.1.conv2.weight");
  EXPECT_EQ(kernel.shape, (std::vector<std::int64_t>{2, 2, 3, 3}));
  const std::vector<float> hwio = keras.at("res2b_branch2b/kernel").floats();
  const std::vector<float> oihw = kernel.floats();
  for (int o = 0; o < 2; ++o) {
    for (int i = 0; i < 2; ++i) {
      for (int p = 0; p < 9; ++p) EXPECT_EQ(oihw[(o * 2 + i) * 9 + p], hwio[(p * 2 + i) * 2 + o]);
    }
  }
  const auto mean = keras.at("bn2a_branch1/moving_mean").floats();
  const auto bias = keras.at("res2a_branch1/bias").floats();
  const auto shifted = converted.at("layer1.0.downsample.1.running_mean").floats();
  for (std::size_t i = 0; i < mean.size(); ++i) EXPECT_EQ(shifted[i], mean[i] - bias[i]);
  EXPECT_FALSE(converted.contains("fc.weight"));
}

TEST_F(Tfjs, ForeignKerasTensorIsNamed) {
  TensorMap tensors = small_keras_resnet();
  tensors["surprise/kernel"] = make_tensor({1}, {1});
  write_model(tensors);
  expect_error([&] { convert_keras_resnet(TensorFile::open(file("model.json"))); },
               file("model.json").string(),
               "surprise/kernel");
}

class Cache : public Tfjs {
 protected:
  const CacheIn cache_{folder_};
};

TEST_F(Cache, AddsAndFindsWeights) {
  EXPECT_EQ(cache_folder(), folder_ / "ria");
  write_model(small_keras_resnet());
  const fs::path added = add_weights(file("model.json"), "small");
  EXPECT_EQ(added, folder_ / "ria" / "weights" / "small.safetensors");
  EXPECT_EQ(cached_weights("small"), added);
  const json record = json::parse(read_text(folder_ / "ria" / "weights" / "small.json"));
  EXPECT_EQ(record["sha256"], sha256_file(added));
  EXPECT_EQ(record["bytes"], fs::file_size(added));
  EXPECT_EQ(record["source"], "model.json");
  EXPECT_EQ(record["architecture"], "resnet");
  const WeightsInfo info = weights_info(added);
  EXPECT_EQ(info.architecture, "resnet");
  EXPECT_EQ(info.sha256, record["sha256"]);
  EXPECT_EQ(info.metadata.at("normalization"), "caffe");
  EXPECT_EQ(info.tensors.size(), 40u);
}

TEST_F(Cache, MissingAndCorruptedSayWhatToDo) {
  expect_error([] { cached_weights("resnet50"); }, "resnet50.safetensors", "./run weights");
  expect_error([] { cached_weights("other"); }, "other.safetensors", "ria weights add");
  EXPECT_THROW(cached_weights("../x"), std::invalid_argument);
  EXPECT_THROW(add_weights(file("x"), ""), std::invalid_argument);
  write_safetensors(file("in"), sample_tensors());
  const fs::path added = add_weights(file("in"), "mine");
  const std::string right = sha256_file(added);
  std::string damaged = read_text(added);
  damaged.back() ^= 1;
  std::ofstream(added, std::ios::binary) << damaged;
  expect_error([] { cached_weights("mine"); }, added.string(), right);
  expect_error([] { cached_weights("mine"); }, added.string(), sha256_file(added));
  fs::remove(folder_ / "ria" / "weights" / "mine.json");
  expect_error([] { cached_weights("mine"); }, "mine.json", "missing");
}

TEST_F(Cache, PinnedNameTakesOnlyThePinnedContent) {
  write_safetensors(file("in"), sample_tensors());
  expect_error(
      [&] { add_weights(file("in"), "resnet50"); }, file("in").string(), "not the published");
  EXPECT_TRUE(fs::is_empty(folder_ / "ria" / "weights"));
}

TEST_F(Cache, TorchFileIsRewrittenUnderCanonicalNames) {
  RIA_NEEDS_GOLDEN("gem");
  const auto source = GoldenCase("gem").weights_where(
      [](const TensorFile& file) { return !canonical_resnet_names(file).empty(); });
  if (!source) GTEST_SKIP() << "the case gem has no whole network";
  const TensorFile added = TensorFile::open(add_weights(source->path(), "cosplace"));
  EXPECT_EQ(added.names().size(), source->names().size());
  EXPECT_EQ(added.metadata().at("architecture"), infer_architecture(*source));
  for (const auto& [name, stored] : canonical_resnet_names(*source)) {
    EXPECT_TRUE(added.contains(name)) << name;
  }
  EXPECT_TRUE(added.contains("aggregation.1.p"));
}

}  // namespace
}  // namespace ria::weights_test
