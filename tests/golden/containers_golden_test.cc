// SPDX-License-Identifier: MIT
// .mat weights, published ground truth, and every foreign file cut short.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "archive/bytes.h"
#include "golden/golden_case.h"
#include "support/weights_fixture.h"
#include "tensor/mat.h"
#include "tensor/npy.h"
#include "tensor/npy_objects.h"
#include "util/files.h"

namespace ria {
namespace {

namespace fs = std::filesystem;
using Integers = std::vector<std::int64_t>;

fs::path ground_truth() { return beside_goldens("groundtruth"); }

#define RIA_NEEDS_GROUND_TRUTH() \
  if (!fs::exists(ground_truth())) GTEST_SKIP() << "no ground truth in " << ground_truth().string()

std::int64_t sum(const Integers& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

class MatGolden : public GoldenCaseTest {
 protected:
  MatGolden() : GoldenCaseTest("netvlad") {}

  void SetUp() override {
    GoldenCaseTest::SetUp();
    if (!IsSkipped()) files_ = golden().files_like("", ".mat");
    if (files_.empty()) leave_out("a .mat file");
  }

  std::vector<fs::path> files_;
};

/// A .mat file begins with a header, then the type and size of its first element.
constexpr std::size_t kMatHeader = 128, kMatTag = 8;

bool is_compressed(const std::string& mat) {
  constexpr char kCompressed = 15;
  return mat.at(kMatHeader) == kCompressed;
}

/// The first element as it is when it is not compressed.
std::string first_element(const std::string& mat) {
  if (!is_compressed(mat)) return mat.substr(kMatHeader);
  std::string element(mat.size() * 10, '\0');
  uLongf size = element.size();
  const auto packed = reinterpret_cast<const Bytef*>(mat.data() + kMatHeader + kMatTag);
  const int error = uncompress(
      reinterpret_cast<Bytef*>(element.data()), &size, packed, mat.size() - kMatHeader - kMatTag);
  EXPECT_EQ(error, Z_OK);
  element.resize(size);
  return element;
}

TEST_F(MatGolden, CompressedAndPlainHoldTheSame) {
  int compressed = 0;
  for (const fs::path& file : files_) {
    const TensorFile opened = TensorFile::open(file);
    EXPECT_EQ(opened.format(), WeightFormat::matlab);
    EXPECT_TRUE(
        weights_test::same_tensors(opened.tensors(), TensorFile::open(files_.front()).tensors()));
    compressed += is_compressed(read_text(file)) ? 1 : 0;
  }
  if (compressed == 0 || compressed == std::ssize(files_)) {
    leave_out("a compressed and a plain .mat file");
  }
}

/// Turned over, a tensor is bytes that stand in the element: columns first.
void expect_columns_first(const MatValue& value, const std::string& element) {
  const Tensor tensor = value.tensor();
  ASSERT_EQ(tensor.shape, value.dims);
  ASSERT_EQ(tensor.dtype, DType::F32);
  const std::vector<float> rows_first = tensor.floats();
  std::vector<float> columns_first(rows_first.size());
  for (std::size_t i = 0; i < rows_first.size(); ++i) {
    std::size_t rest = i, at = 0, stride = rows_first.size();
    for (auto side = value.dims.rbegin(); side != value.dims.rend(); ++side) {
      stride /= static_cast<std::size_t>(*side);
      at += rest % static_cast<std::size_t>(*side) * stride;
      rest /= static_cast<std::size_t>(*side);
    }
    columns_first[at] = rows_first[i];
  }
  const std::string bytes(reinterpret_cast<const char*>(columns_first.data()),
                          columns_first.size() * sizeof(float));
  EXPECT_NE(element.find(bytes), element.npos);
}

/// The layers as hloc counts them (VLAD is 30, its whitening 33), with the sizes of the case.
TEST_F(MatGolden, NetVladStruct) {
  const auto& sizes = config().at("hloc");
  const std::int64_t clusters = sizes.at("K"), dim = sizes.at("D");
  for (const fs::path& file : files_) {
    SCOPED_TRACE(file.string());
    const auto variables = read_mat(file);
    const MatValue& net = variables.at("net");
    const MatValue* layers = net.find("layers");
    ASSERT_NE(layers, nullptr);
    ASSERT_GT(layers->cells.size(), 33u);
    EXPECT_EQ(layers->cells[30].find("name")->rows(), std::vector<std::string>{"vlad:core"});
    EXPECT_EQ(layers->cells[30].find("type")->rows(), std::vector<std::string>{"custom"});
    EXPECT_EQ(layers->cells[1].find("weights")->size(), 0u);
    EXPECT_EQ(layers->cells[30].find("weights")->cells.at(0).dims, (Integers{dim, clusters}));
    EXPECT_EQ(layers->cells[33].find("weights")->cells.at(0).dims,
              (Integers{1, 1, dim * clusters, sizes.at("whiten_dim")}));
    const std::string element = first_element(read_text(file));
    for (const MatValue& layer : layers->cells) {
      const MatValue* weights = layer.find("weights");
      if (weights == nullptr) continue;
      for (const MatValue& value : weights->cells) expect_columns_first(value, element);
    }
  }
}

TEST(GroundTruthGolden, VprBench) {
  RIA_NEEDS_GROUND_TRUTH();
  struct Case {
    const char* name;
    std::int64_t rows;
    std::int64_t positives;
    std::int64_t sum;
    Integers first;
    Integers last;
  };
  const std::array<Case, 4> cases{{
      {"17places", 406, 2027, 411079, {0, 1, 2}, {403, 404, 405, 406, 407}},
      {"GardensPointWalking", 200, 997, 99504, {0, 1, 2}, {197, 198, 199, 200, 201}},
      {"Nordland", 2760, 8279, 114222601, {0, 1}, {27589, 27590, 27591}},
      {"corridor", 111, 549, 30195, {0, 1, 2}, {108, 109, 110}},
  }};
  for (const Case& expected : cases) {
    SCOPED_TRACE(expected.name);
    const ObjectArray truth =
        read_npy_objects(ground_truth() / "vpr-bench" / expected.name / "ground_truth_new.npy");
    ASSERT_EQ(truth.shape(), (Integers{expected.rows, 2}));
    std::int64_t positives = 0;
    std::int64_t total = 0;
    for (std::int64_t row = 0; row < expected.rows; ++row) {
      EXPECT_EQ(truth.integer(static_cast<std::size_t>(2 * row)), row);
      const Integers list = truth.integers(static_cast<std::size_t>(2 * row + 1));
      positives += static_cast<std::int64_t>(list.size());
      total += sum(list);
    }
    EXPECT_EQ(positives, expected.positives);
    EXPECT_EQ(total, expected.sum);
    EXPECT_EQ(truth.integers(1), expected.first);
    EXPECT_EQ(truth.integers(truth.size() - 1), expected.last);
  }
}

/// Two projects publish Nordland's ground truth: as lists and as NumPy arrays.
TEST(GroundTruthGolden, NordlandOfTwoProjectsAgrees) {
  RIA_NEEDS_GROUND_TRUTH();
  const ObjectArray lists =
      read_npy_objects(ground_truth() / "vpr-bench/Nordland/ground_truth_new.npy");
  const ObjectArray arrays = read_npy_objects(ground_truth() / "nordland_gsv/Nordland_gt.npy");
  ASSERT_EQ(arrays.shape(), Integers{2760});
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    ASSERT_EQ(arrays.integers(i), lists.integers(2 * i + 1)) << i;
  }
}

TEST(GroundTruthGolden, MapillaryValidation) {
  RIA_NEEDS_GROUND_TRUTH();
  const fs::path folder = ground_truth() / "msls_val";
  const ObjectArray positives = read_npy_objects(folder / "msls_val_pIdx.npy");
  const Tensor queries = read_npy(folder / "msls_val_qIdx.npy");
  const TextArray images = read_npy_text(folder / "msls_val_qImages.npy");
  ASSERT_EQ(positives.size(), 740u);
  EXPECT_EQ(queries.size(), 740);
  EXPECT_EQ(queries.doubles().back(), 746);
  EXPECT_EQ(positives.integers(0), (Integers{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(positives.integers(739), (Integers{18860, 18861, 18862}));
  std::size_t count = 0;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < positives.size(); ++i) {
    const Integers list = positives.integers(i);
    count += list.size();
    total += sum(list);
  }
  EXPECT_EQ(count, 7955u);
  EXPECT_EQ(total, 70589113);
  ASSERT_EQ(images.values.size(), 747u);
  EXPECT_EQ(images.values.front(), "train_val/cph/query/images/1RKCGBAWsZbi5dj3vR2mlw.jpg");
  EXPECT_EQ(images.values.back(), "train_val/sf/query/images/qRXfjENgVI8DqWVmYUmSSg.jpg");
}

TEST(GroundTruthGolden, NamesAndPositions) {
  RIA_NEEDS_GROUND_TRUTH();
  const TextArray database = read_npy_text(ground_truth() / "st_lucia/st_lucia_dbImages.npy");
  const TextArray queries = read_npy_text(ground_truth() / "st_lucia/st_lucia_qImages.npy");
  EXPECT_EQ(database.shape, Integers{1549});
  EXPECT_EQ(queries.shape, Integers{1464});
  EXPECT_EQ(
      queries.values.back(),
      "queries/@0501055.23@6958300.73@56@J@-27.49893@0153.01068@210809_1210_01103@@@@@@@@.jpg");
  for (const std::string& name : database.values) {
    ASSERT_TRUE(name.starts_with("database/@") && name.ends_with("@.jpg")) << name;
  }
  const TensorFile pitts = TensorFile::open(ground_truth() / "pitts30k/pitts30k_test.npz");
  EXPECT_EQ(pitts.at("utmQ").shape, (Integers{6816, 2}));
  EXPECT_EQ(pitts.at("utmDb").shape, (Integers{10000, 2}));
  EXPECT_NEAR(pitts.at("utmQ").doubles()[1], 4476709.91829431, 1e-8);
  EXPECT_NEAR(pitts.at("utmDb").doubles().back(), 4476911.61831072, 1e-8);
  EXPECT_EQ(pitts.at("posDistThr").doubles(), std::vector<double>{25});
}

bool is_foreign_file(const fs::path& file) {
  constexpr std::array kEndings{".pth", ".pt", ".tar", ".safetensors", ".mat", ".npy", ".npz"};
  return std::any_of(kEndings.begin(), kEndings.end(), [&](const char* ending) {
    return file.extension() == ending;
  });
}

/// Numeric files as tensors; text and objects, which are no tensors, as the texts of their values.
TensorMap content(const fs::path& file, std::span<const std::uint8_t> bytes) {
  const auto mapping = MappedFile::from_memory({bytes.begin(), bytes.end()});
  const std::string_view start = as_text(bytes).substr(0, 64);
  const bool objects = start.find("'|O'") != std::string_view::npos;
  if (!objects && start.find("'<U") == std::string_view::npos) {
    return TensorFile::read(file, mapping).tensors();
  }
  std::string all;
  if (objects) {
    const ObjectArray array = read_npy_objects(file, mapping->bytes());
    for (std::size_t i = 0; i < array.size(); ++i) {
      for (const std::int64_t value : array.integers(i)) all += std::to_string(value) + ' ';
    }
  } else {
    for (const std::string& text : read_npy_text(file, mapping->bytes()).values) all += text + '\n';
  }
  TensorMap out;
  out["values"] =
      make_tensor(DType::U8, {static_cast<std::int64_t>(all.size())}, {all.begin(), all.end()});
  return out;
}

/// A file cut at every hundredth gives an error or, where whole variables stand before the cut, the
/// very tensors of the whole.
TEST(TruncationGolden, NeverAWrongTensor) {
  if (!fs::exists(golden_dir())) GTEST_SKIP() << "no goldens in " << golden_dir().string();
  int files = 0;
  for (const fs::path& folder : {golden_dir(), ground_truth()}) {
    if (!fs::exists(folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!is_foreign_file(entry.path())) continue;
      SCOPED_TRACE(entry.path().string());
      const auto mapping = MappedFile::open(entry.path());
      const auto whole = mapping->bytes();
      const TensorMap expected = content(entry.path(), whole);
      ++files;
      for (std::size_t percent = 0; percent < 100; ++percent) {
        try {
          const TensorMap part = content(entry.path(), whole.first(whole.size() * percent / 100));
          for (const auto& [name, tensor] : part) {
            ASSERT_TRUE(expected.count(name)) << name;
            ASSERT_TRUE(weights_test::same_tensors({{name, tensor}}, {{name, expected.at(name)}}))
                << name << " at " << percent << " %";
          }
        } catch (const std::runtime_error& error) {
          const std::string text = error.what();
          ASSERT_NE(text.find(entry.path().filename().string()), std::string::npos) << text;
          ASSERT_EQ(text.find('\n'), std::string::npos) << text;
        }
      }
    }
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace ria
