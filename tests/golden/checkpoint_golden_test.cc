// SPDX-License-Identifier: MIT
// Every container variant of checkpoint_formats, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "golden/golden.h"
#include "weights/architecture.h"
#include "weights/tensor.h"

namespace ria {
namespace {

namespace fs = std::filesystem;

fs::path formats() { return golden_dir() / "checkpoint_formats"; }

/// The name a tensor has in our state dict; fixtures give the path inside, '/' between levels.
std::string our_name(std::string path) {
  if (path.empty()) return "tensor";
  const std::string state_dict = "state_dict/";
  return path.starts_with(state_dict) ? path.substr(state_dict.size()) : path;
}

TEST(CheckpointGolden, EveryFormIsBitExact) {
  RIA_NEEDS_GOLDEN("checkpoint_formats");
  const TensorFile expected = TensorFile::open(formats() / "expected.safetensors");
  int compared = 0;
  for (const auto& [key, want] : expected.tensors()) {
    SCOPED_TRACE(key);
    const std::size_t colons = key.find("::");
    const std::string file = key.substr(0, colons);
    const TensorFile got_file = TensorFile::open(formats() / file);
    const Tensor& got = got_file.at(our_name(key.substr(colons + 2)));
    EXPECT_EQ(got.shape, want.shape);
    if (got.dtype == want.dtype) {
      EXPECT_TRUE(
          std::equal(got.bytes.begin(), got.bytes.end(), want.bytes.begin(), want.bytes.end()));
    } else {  // half precision is given as float32
      EXPECT_TRUE(got.dtype == DType::F16 || got.dtype == DType::BF16);
      EXPECT_EQ(got.floats(), want.floats());
    }
    ++compared;
  }
  EXPECT_EQ(compared, static_cast<int>(expected.names().size()));
  EXPECT_GE(compared, 30);
}

TEST(CheckpointGolden, UnknownObjectsAreSkipped) {
  RIA_NEEDS_GOLDEN("checkpoint_formats");
  for (const char* form : {"zip", "legacy"}) {
    const std::string name = std::string("nested_everything_") + form + ".pth";
    EXPECT_EQ(TensorFile::open(formats() / name).names(),
              (std::vector<std::string>{"module.backbone.weight", "module.p"}));
  }
}

TEST(CheckpointGolden, TensorsShareTheMappedFile) {
  RIA_NEEDS_GOLDEN("checkpoint_formats");
  for (const char* name : {"ordered_metadata_zip.pth", "ordered_metadata_legacy.pth"}) {
    const TensorFile file = TensorFile::open(formats() / name);
    for (const auto& [key, tensor] : file.tensors()) EXPECT_NE(tensor.mapped, nullptr) << key;
  }
}

void expect_same(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.shape, b.shape);
  EXPECT_TRUE(std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end()));
}

TEST(CheckpointGolden, LegacyFilesEqualTheirTwins) {
  RIA_NEEDS_GOLDEN("vgg16");
  RIA_NEEDS_GOLDEN("netvlad");
  const auto compare = [](const fs::path& legacy,
                          const std::string& prefix,
                          const fs::path& twin,
                          const std::string& twin_prefix) {
    const TensorFile ours = TensorFile::open(golden_dir() / legacy);
    const TensorFile theirs = TensorFile::open(golden_dir() / twin);
    EXPECT_EQ(ours.format(), WeightFormat::torch);
    EXPECT_FALSE(ours.names().empty());
    for (const auto& [name, tensor] : ours.tensors()) {
      SCOPED_TRACE(name);
      ASSERT_TRUE(name.starts_with(prefix));
      expect_same(tensor, theirs.at(twin_prefix + name.substr(prefix.size())));
    }
  };
  compare("vgg16/weights_encoder_names.pth",
          "encoder.",
          "vgg16/weights_backbone_names.safetensors",
          "backbone.");
  compare("netvlad/nanne_checkpoint.pth.tar",
          "pool.",
          "netvlad/nanne_weights.safetensors",
          "nanne.pool.");
}

TEST(CheckpointGolden, VocabulariesAreBareTensors) {
  const fs::path folder = golden_dir() / ".." / "vocabularies";
  if (!fs::exists(folder)) GTEST_SKIP() << "no vocabularies in " << folder.string();
  int found = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().filename() != "c_centers.pt") continue;
    SCOPED_TRACE(entry.path().string());
    const Tensor centers = TensorFile::open(entry.path()).at("tensor");
    EXPECT_EQ(centers.shape, (std::vector<std::int64_t>{32, 1536}));
    EXPECT_EQ(centers.dtype, DType::F32);
    ++found;
  }
  EXPECT_GE(found, 6);
}

TEST(CheckpointGolden, SafetensorsDtypes) {
  RIA_NEEDS_GOLDEN("checkpoint_formats");
  const TensorFile file = TensorFile::open(formats() / "st_dtypes.safetensors");
  const TensorFile expected = TensorFile::open(formats() / "expected.safetensors");
  EXPECT_EQ(file.metadata(), (Metadata{{"format", "pt"}, {"note", "fixture"}}));
  EXPECT_EQ(file.names().size(), 8u);
  for (const std::string& name : file.names()) {
    SCOPED_TRACE(name);
    const Tensor& want = expected.at("dtypes_zip.pth::" + name);
    EXPECT_EQ(file.at(name).shape, want.shape);
    EXPECT_EQ(file.at(name).doubles(), want.doubles());
  }
}

/// The published network of these block counts, "resnet" if there is none.
std::string architecture_of(const nlohmann::json& config) {
  using Layers = std::vector<int>;
  const auto layers = config.at("layers").get<Layers>();
  if (config.at("block") == "Bottleneck") {
    return layers == Layers{3, 4, 6, 3}    ? "resnet50"
           : layers == Layers{3, 4, 23, 3} ? "resnet101"
           : layers == Layers{3, 8, 36, 3} ? "resnet152"
                                           : "resnet";
  }
  return layers == Layers{2, 2, 2, 2}   ? "resnet18"
         : layers == Layers{3, 4, 6, 3} ? "resnet34"
                                        : "resnet";
}

TEST(CheckpointGolden, ResnetNamesResolveToTheSameTensors) {
  RIA_NEEDS_GOLDEN("resnet");
  const nlohmann::json networks = load_case("resnet").at("config");
  ASSERT_FALSE(networks.empty());
  for (const auto& [kind, config] : networks.items()) {
    SCOPED_TRACE(kind);
    const fs::path folder = golden_dir() / "resnet";
    const TensorFile torchvision = TensorFile::open(folder / (kind + "_torchvision.pth"));
    const TensorFile cosplace = TensorFile::open(folder / (kind + "_cosplace_names.safetensors"));
    const std::string architecture = architecture_of(config);
    EXPECT_EQ(infer_architecture(torchvision), architecture);
    EXPECT_EQ(infer_architecture(cosplace), architecture);
    const auto names = canonical_resnet_names(cosplace);
    ASSERT_EQ(names.size(), torchvision.names().size());
    for (const auto& [name, stored] : names) {
      EXPECT_EQ(torchvision.at(name).shape, cosplace.at(stored).shape) << name;
      EXPECT_EQ(torchvision.at(name).doubles(), cosplace.at(stored).doubles()) << name;
    }
  }
}

}  // namespace
}  // namespace ria
