// SPDX-License-Identifier: MIT
// Every container variant of checkpoint_formats, bit for bit.
#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "golden/golden_case.h"
#include "golden/resnet_case.h"
#include "golden/tensor_names.h"
#include "util/files.h"
#include "weights/architecture.h"

namespace ria {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

/// The name a tensor has in our state dict; fixtures give the path inside, '/' between levels.
std::string our_name(const std::string& path) {
  if (path.empty()) return "tensor";
  static const std::regex kStateDict("^((state_dict|model_state_dict|model)/)+");
  std::string name = std::regex_replace(path, kStateDict, "");
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

class CheckpointGolden : public GoldenCaseTest {
 protected:
  CheckpointGolden() : GoldenCaseTest("checkpoint_formats") {}

  void SetUp() override {
    GoldenCaseTest::SetUp();
    if (IsSkipped()) return;
    for (const auto& [file, meaning] : golden().info().at("files").items()) {
      (fs::exists(folder() / file) ? files_ : missing_).push_back(file);
    }
    ASSERT_FALSE(files_.empty());
    expected_.emplace(TensorFile::open(folder() / "expected.safetensors"));
  }

  std::vector<std::string> files_, missing_;  ///< that case.json lists
  std::optional<TensorFile> expected_;
};

TEST_F(CheckpointGolden, EveryFormIsBitExact) {
  Names compared;
  for (const auto& [key, want] : expected_->tensors()) {
    SCOPED_TRACE(key);
    const std::size_t colons = key.find("::");
    const std::string file = key.substr(0, colons);
    if (!fs::exists(folder() / file)) continue;  // left out
    const TensorFile got_file = TensorFile::open(folder() / file);
    const Tensor& got = got_file.at(our_name(key.substr(colons + 2)));
    EXPECT_EQ(got.shape, want.shape);
    if (got.dtype == want.dtype) {
      EXPECT_TRUE(
          std::equal(got.bytes.begin(), got.bytes.end(), want.bytes.begin(), want.bytes.end()));
    } else {  // half precision is given as float32
      EXPECT_TRUE(got.dtype == DType::F16 || got.dtype == DType::BF16);
      EXPECT_EQ(got.floats(), want.floats());
    }
    compared.insert(file);
  }
  EXPECT_EQ(compared, Names(files_.begin(), files_.end()));
  for (const std::string& file : missing_) leave_out(file);
}

// Of a content in two containers, all tensors are expected of one of them at least.
TEST_F(CheckpointGolden, UnknownObjectsAreSkipped) {
  const std::string start = "nested_everything";
  Names expected;
  for (const std::string& key : expected_->names()) {
    if (key.starts_with(start)) expected.insert(our_name(key.substr(key.find("::") + 2)));
  }
  int checked = 0;
  for (const std::string& file : files_) {
    if (!file.starts_with(start)) continue;
    const std::vector<std::string> found = TensorFile::open(folder() / file).names();
    EXPECT_EQ(Names(found.begin(), found.end()), expected) << file;
    ++checked;
  }
  if (checked == 0) leave_out(start);
}

TEST_F(CheckpointGolden, TensorsShareTheMappedFile) {
  int checked = 0;
  for (const std::string& name : files_) {
    if (!name.starts_with("ordered_metadata")) continue;  // what state_dict() of a module gives
    const TensorFile file = TensorFile::open(folder() / name);
    for (const auto& [key, tensor] : file.tensors()) EXPECT_NE(tensor.mapped, nullptr) << key;
    ++checked;
  }
  if (checked == 0) leave_out("ordered_metadata");
}

// What the file's own header says, read here as the JSON it is.
TEST_F(CheckpointGolden, SafetensorsDtypes) {
  const fs::path path = folder() / "st_dtypes.safetensors";
  if (!fs::exists(path)) return leave_out("st_dtypes.safetensors");
  const std::string bytes = read_text(path);
  std::uint64_t length = 0;
  std::copy_n(bytes.data(), sizeof(length), reinterpret_cast<char*>(&length));
  auto header = nlohmann::json::parse(bytes.substr(sizeof(length), length));
  const TensorFile file = TensorFile::open(path);
  EXPECT_EQ(file.metadata(), header.value("__metadata__", Metadata{}));
  header.erase("__metadata__");
  ASSERT_EQ(file.names().size(), header.size());
  for (const auto& [name, entry] : header.items()) {
    SCOPED_TRACE(name);
    const Tensor& got = file.at(name);
    EXPECT_EQ(dtype_name(got.dtype), entry.at("dtype").get<std::string>());
    EXPECT_EQ(got.shape, entry.at("shape").get<std::vector<std::int64_t>>());
    const std::string twin = name_ending(*expected_, "::" + name);
    ASSERT_NE(twin, "");
    EXPECT_EQ(got.shape, expected_->at(twin).shape);
    EXPECT_EQ(got.doubles(), expected_->at(twin).doubles());
  }
}

void expect_same(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.shape, b.shape);
  EXPECT_TRUE(std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end()));
}

/// A case's torch file against its safetensors file, behind whatever prefixes.
class LegacyGolden : public GoldenTest {
 protected:
  void compare(const std::string& name, const std::string& only_behind) {
    if (!fs::exists(golden_dir() / name / "case.json")) return leave_out("case " + name);
    const GoldenCase golden(name);
    const auto torch = golden.weights_where(
        [](const TensorFile& file) { return file.format() == WeightFormat::torch; });
    const auto twin = golden.weights_where(
        [](const TensorFile& file) { return file.format() == WeightFormat::safetensors; });
    if (!torch || !twin) return leave_out("two containers in " + name);
    const TensorFile ours = renamed(*torch, common_prefix(*torch), "");
    TensorFile theirs = renamed(*twin, only_behind, "");
    theirs = renamed(theirs, common_prefix(theirs), "");
    EXPECT_EQ(ours.names(), theirs.names());
    for (const auto& [key, tensor] : ours.tensors()) {
      SCOPED_TRACE(key);
      expect_same(tensor, theirs.at(key));
    }
  }
};

TEST_F(LegacyGolden, FilesEqualTheirTwins) {
  compare("vgg16", "");
  compare("netvlad", "nanne.");
}

TEST(PublishedVocabularyFiles, AreBareTensors) {
  const fs::path folder = beside_goldens("vocabularies");
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

class ResnetNamesGolden : public GoldenCaseTest {
 protected:
  ResnetNamesGolden() : GoldenCaseTest("resnet") {}
};

// Two layouts of one network: the first under whatever names against the others.
TEST_F(ResnetNamesGolden, ResolveToTheSameTensors) {
  ASSERT_FALSE(config().empty());
  for (const auto& [network, settings] : config().items()) {
    SCOPED_TRACE(network);
    const std::vector<TensorFile> layouts = resnet_files(golden(), network);
    if (layouts.size() < 2) leave_out("two layouts of " + network);
    for (const TensorFile& file : layouts) {
      EXPECT_EQ(infer_architecture(file), resnet_architecture(settings));
      const auto names = canonical_resnet_names(file);
      const auto first = canonical_resnet_names(layouts.front());
      ASSERT_EQ(names.size(), file.names().size());
      ASSERT_EQ(names.size(), first.size());
      for (const auto& [name, stored] : names) {
        SCOPED_TRACE(name);
        expect_same(file.at(stored), layouts.front().at(first.at(name)));
      }
    }
  }
}

}  // namespace
}  // namespace ria
