// SPDX-License-Identifier: MIT
#include "ria/weights.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "cache_in.h"
#include "golden/golden.h"
#include "util/files.h"
#include "util/hash.h"
#include "weights/architecture.h"
#include "weights/keras_resnet.h"
#include "weights/npy.h"
#include "weights/pickle.h"
#include "weights/safetensors.h"
#include "weights/tensor.h"

namespace ria {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Kind = PickleValue::Kind;

class Weights : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "ria_weights_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path file(const std::string& name) const { return folder_ / name; }

  fs::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }

  fs::path folder_;
};

/// The error must be one line, name the file and hold the words.
void expect_error(const std::function<void()>& action,
                  const std::string& file,
                  const std::string& words) {
  try {
    action();
    ADD_FAILURE() << "no error, expected: " << words;
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_NE(text.find(file), std::string::npos) << text;
    EXPECT_NE(text.find(words), std::string::npos) << text;
  }
}

void expect_open_error(const fs::path& file, const std::string& words) {
  expect_error([&] { TensorFile::open(file); }, file.string(), words);
}

bool same_tensors(const TensorMap& a, const TensorMap& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](auto& x, auto& y) {
           return x.first == y.first && x.second.dtype == y.second.dtype &&
                  x.second.shape == y.second.shape &&
                  std::equal(x.second.bytes.begin(),
                             x.second.bytes.end(),
                             y.second.bytes.begin(),
                             y.second.bytes.end());
         });
}

TensorMap sample_tensors() {
  TensorMap tensors;
  tensors["b.flag"] = make_tensor(DType::BOOL, {3}, {1, 0, 1});
  tensors["a.weight"] = make_tensor({2, 3}, {1.5f, -2, 3, 4, 5, 6});
  tensors["c.empty"] = make_tensor({0, 4}, {});
  tensors["d.scalar"] = make_tensor({}, {7});
  tensors["e.count"] =
      make_tensor(DType::I64, {1}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff});
  return tensors;
}

std::string read_all(const fs::path& file) { return read_text(file); }

std::string safetensors(const std::string& header, const std::string& data = "") {
  const std::uint64_t length = header.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  return out + header + data;
}

TEST_F(Weights, HalvesConvertExactly) {
  const Tensor half = make_tensor(
      DType::F16, {6}, {0x00, 0x3c, 0x01, 0x00, 0xff, 0x7b, 0x00, 0x80, 0x00, 0xfc, 0x01, 0x7e});
  const std::vector<float> values = half.floats();
  EXPECT_EQ(values[0], 1.0f);
  EXPECT_EQ(values[1], std::ldexp(1.0f, -24));
  EXPECT_EQ(values[2], 65504.0f);
  EXPECT_TRUE(values[3] == 0 && std::signbit(values[3]));
  EXPECT_EQ(values[4], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(values[5]));
  const Tensor brain = make_tensor(DType::BF16, {2}, {0x80, 0x3f, 0x49, 0x40});
  EXPECT_EQ(brain.floats(), (std::vector<float>{1.0f, 3.140625f}));
}

TEST_F(Weights, IntegersAndTruth) {
  EXPECT_EQ(make_tensor(DType::I8, {2}, {0xff, 2}).doubles(), (std::vector<double>{-1, 2}));
  EXPECT_EQ(make_tensor(DType::U8, {2}, {0xff, 2}).doubles(), (std::vector<double>{255, 2}));
  EXPECT_EQ(make_tensor(DType::BOOL, {2}, {0xff, 0}).doubles(), (std::vector<double>{1, 0}));
  EXPECT_EQ(make_tensor(DType::I16, {1}, {0xfe, 0xff}).floats(), (std::vector<float>{-2}));
  EXPECT_THROW(make_tensor(DType::F32, {2}, {0}), std::invalid_argument);
}

TEST_F(Weights, SafetensorsRoundTripIsDeterministic) {
  const Metadata metadata{{"note", "x"}};
  write_safetensors(file("a"), sample_tensors(), metadata);
  write_safetensors(file("b"), sample_tensors(), metadata);
  EXPECT_EQ(read_all(file("a")), read_all(file("b")));
  const TensorFile back = TensorFile::open(file("a"));
  EXPECT_EQ(back.format(), WeightFormat::safetensors);
  EXPECT_TRUE(same_tensors(back.tensors(), sample_tensors()));
  EXPECT_EQ(back.metadata(), metadata);
  expect_error([&] { back.at("nope"); }, file("a").string(), "nope");
  for (const auto& [name, tensor] : back.tensors()) {
    if (tensor.bytes.empty()) continue;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % item_size(tensor.dtype), 0u);
  }
}

TEST_F(Weights, TruncatedSafetensorsNeverLoads) {
  write_safetensors(file("whole"), sample_tensors());
  const std::string whole = read_all(file("whole"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    expect_open_error(write("part", whole.substr(0, size)), "");
  }
  expect_open_error(write("more", whole + "x"), "bytes");
}

TEST_F(Weights, DamagedSafetensorsNeverCrashes) {
  write_safetensors(file("whole"), sample_tensors());
  const std::string whole = read_all(file("whole"));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {0x01, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      try {
        for (const auto& [name, tensor] : TensorFile::open(write("part", damaged)).tensors()) {
          tensor.floats();
        }
      } catch (const std::runtime_error&) {
      }
    }
  }
}

TEST_F(Weights, WrongSafetensorsHeaders) {
  std::string huge = safetensors("{}");
  huge[0] = 0;
  huge[7] = static_cast<char>(0x80);
  expect_open_error(write("huge", huge), "9223372036854775808");
  const auto refused = [&](const std::string& header, const std::string& data, const char* words) {
    expect_open_error(write("x", safetensors(header, data)), words);
  };
  refused("{]", "", "JSON");
  refused(R"({"a":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}})", "1234", "dtype");
  refused(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234", "shape");
  refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234", "do not match");
  refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "1234", "outside");
  refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "1234", "outside");
  refused(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4,4],"data_offsets":[0,4]}})",
          "1234",
          "do not match");
  refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
          R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
          "123456",
          "overlaps");
  refused(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})", "1234", "hole");
  refused(R"({"__metadata__":{"a":1}})", "", "__metadata__");
  refused(R"({"a\nb":1})", "", "entry");
  expect_open_error(write("text", "hello, this is no weight file"), "expected");
  expect_open_error(write("empty", ""), "expected");
  expect_open_error(folder_, "folder");
  expect_open_error(file("absent"), "No such file");
}

TEST_F(Weights, DamagedTorchArchiveNeverCrashes) {
  RIA_NEEDS_GOLDEN("checkpoint_formats");
  for (const char* name : {"nested_everything_zip.pth", "shared_storage_views_zip.pth"}) {
    const fs::path source = golden_dir() / "checkpoint_formats" / name;
    const std::string whole = read_all(source);
    const TensorMap tensors = TensorFile::open(source).tensors();
    for (int percent = 0; percent < 100; ++percent) {
      SCOPED_TRACE(percent);
      const fs::path part = write("part", whole.substr(0, whole.size() * percent / 100));
      try {
        EXPECT_TRUE(same_tensors(TensorFile::open(part).tensors(), tensors));
      } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string(error.what()).find(part.string()), std::string::npos);
      }
    }
    for (std::size_t at = 0; at < whole.size(); at += 3) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
      try {
        for (const auto& [key, tensor] : TensorFile::open(write("part", damaged)).tensors()) {
          tensor.doubles();
        }
      } catch (const std::runtime_error&) {
      }
    }
  }
}

Pickle parse(const std::string& text) {
  return Pickle::parse({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, "pkl");
}

TEST_F(Weights, PickledCallIsInert) {
  const fs::path witness = file("witness");
  const std::string command = "touch " + witness.string();
  std::string pickle =
      "\x80\x02"
      "cos\nsystem\nX";
  pickle += std::string{static_cast<char>(command.size()), 0, 0, 0} + command + "\x85R.";
  const Pickle inert = parse(pickle);
  EXPECT_EQ(inert.root().kind, Kind::opaque);
  EXPECT_EQ(inert.root().text, "os system");
  EXPECT_TRUE(inert.root().items.empty());
  EXPECT_FALSE(fs::exists(witness));
}

TEST_F(Weights, PickleLimits) {
  EXPECT_THROW(parse(""), std::runtime_error);
  EXPECT_THROW(parse("."), std::runtime_error);
  EXPECT_THROW(parse("h\x07."), std::runtime_error);
  EXPECT_THROW(parse("R."), std::runtime_error);
  EXPECT_THROW(parse("\x80\x05N."), std::runtime_error);
  EXPECT_THROW(parse("t."), std::runtime_error);
  EXPECT_THROW(parse("(."), std::runtime_error);
  EXPECT_THROW(parse("NNs."), std::runtime_error);
  EXPECT_THROW(parse(std::string("X\xff\xff\xff\x7f"
                                 "ab.")),
               std::runtime_error);
  EXPECT_THROW(parse(std::string("\x8e\xff\xff\xff\xff\xff\xff\xff\xff"
                                 "ab.")),
               std::runtime_error);
  EXPECT_THROW(parse(std::string(100'000, '(') + "."), std::runtime_error);
  // A million nested tuples and a list inside itself must be freed without recursion.
  EXPECT_EQ(parse(")" + std::string(1'000'000, '\x85') + ".").root().kind, Kind::tuple);
  EXPECT_EQ(parse(std::string("]q\0h\0a.", 7)).root().items.size(), 1u);
}

TEST_F(Weights, PickleScalars) {
  const Pickle pickle =
      parse(std::string("(J\xf9\xff\xff\xff\x8a\x01\x80\x8a\x00G\x3f\xf8\0\0\0\0\0\0"
                        "\x88N\x8a\x09\x01\x02\x03\x04\x05\x06\x07\x08\x09t.",
                        35));
  const auto& items = pickle.root().items;
  ASSERT_EQ(items.size(), 7u);
  EXPECT_EQ(items[0]->integer, -7);
  EXPECT_EQ(items[1]->integer, -128);
  EXPECT_EQ(items[2]->integer, 0);
  EXPECT_EQ(items[3]->number, 1.5);
  EXPECT_EQ(items[4]->kind, Kind::boolean);
  EXPECT_EQ(items[5]->kind, Kind::none);
  EXPECT_EQ(items[6]->kind, Kind::big_integer);
}

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
  const std::string half = read_all(file("s2.bin"));
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
  void SetUp() override {
    Tfjs::SetUp();
    cache_.emplace(folder_);
  }
  void TearDown() override {
    cache_.reset();
    Tfjs::TearDown();
  }
  std::optional<CacheIn> cache_;
};

TEST_F(Cache, AddsAndFindsWeights) {
  EXPECT_EQ(cache_folder(), folder_ / "ria");
  write_model(small_keras_resnet());
  const fs::path added = add_weights(file("model.json"), "small");
  EXPECT_EQ(added, folder_ / "ria" / "weights" / "small.safetensors");
  EXPECT_EQ(cached_weights("small"), added);
  const json record = json::parse(read_all(folder_ / "ria" / "weights" / "small.json"));
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
  std::string damaged = read_all(added);
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
  const TensorFile source = TensorFile::open(golden_dir() / "gem" / "cosplace_reduced.pth");
  const TensorFile added = TensorFile::open(add_weights(source.path(), "cosplace"));
  EXPECT_EQ(added.names().size(), source.names().size());
  EXPECT_EQ(added.metadata().at("architecture"), "resnet50");
  EXPECT_TRUE(added.contains("layer4.2.bn3.running_var"));
  EXPECT_TRUE(added.contains("aggregation.1.p"));
}

TEST_F(Weights, NpyRoundTrip) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  write_npy(file("a.npy"), values.data(), 2, 3);
  EXPECT_EQ(read_all(file("a.npy")).size(), 128u + 24u);
  const Tensor tensor = read_npy(file("a.npy"));
  EXPECT_EQ(tensor.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(tensor.floats(), values);
  const std::string whole = read_all(file("a.npy"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const fs::path part = write("part.npy", whole.substr(0, size));
    expect_error([&] { read_npy(part); }, part.string(), "");
  }
}

std::string npy(int version, const std::string& header, const std::string& data) {
  std::string out = "\x93NUMPY";
  out += {static_cast<char>(version), 0, static_cast<char>(header.size()), 0};
  if (version > 1) out += {0, 0};
  return out + header + data;
}

TEST_F(Weights, NpyOrdersAndTypes) {
  const auto read = [&](int version, const std::string& header, const std::string& data) {
    return read_npy(write("x.npy", npy(version, header, data)));
  };
  const Tensor fortran = read(2,
                              "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n",
                              "\x01\x02\x03\x04\x05\x06");
  EXPECT_EQ(fortran.doubles(), (std::vector<double>{1, 3, 5, 2, 4, 6}));
  const Tensor big = read(3,
                          "{'descr': '>i2', 'fortran_order': False, 'shape': (2,)}",
                          std::string("\0\x01\xff\xfe", 4));
  EXPECT_EQ(big.doubles(), (std::vector<double>{1, -2}));
  const Tensor wide =
      read(1, "{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }", "\xff\xff");
  EXPECT_EQ(wide.dtype, DType::I32);
  EXPECT_EQ(wide.doubles(), (std::vector<double>{65535}));
  EXPECT_EQ(read(1, "{'descr': '|b1', 'fortran_order': False, 'shape': ()}", "\x01").size(), 1);
  EXPECT_THROW(read(1, "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "1"),
               std::runtime_error);
  EXPECT_THROW(read(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "1234"),
               std::runtime_error);
  EXPECT_THROW(
      read(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 8)}", ""),
      std::runtime_error);
  EXPECT_THROW(read(1, "{'descr': '<f4', 'shape': (1,)}", "1234"), std::runtime_error);
}

}  // namespace
}  // namespace ria
