// SPDX-License-Identifier: MIT
// .mat weights, published ground truth, and every foreign file cut short.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "golden/golden.h"
#include "weights/bytes.h"
#include "weights/mat.h"
#include "weights/npy.h"
#include "weights/npy_objects.h"
#include "weights_fixture.h"

namespace ria {
namespace {

namespace fs = std::filesystem;
using Integers = std::vector<std::int64_t>;

fs::path ground_truth() { return golden_dir() / ".." / "groundtruth"; }

#define RIA_NEEDS_GROUND_TRUTH() \
  if (!fs::exists(ground_truth())) GTEST_SKIP() << "no ground truth in " << ground_truth().string()

std::int64_t sum(const Integers& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

TEST(MatGolden, CompressedAndPlainHoldTheSame) {
  RIA_NEEDS_GOLDEN("netvlad");
  const fs::path folder = golden_dir() / "netvlad";
  const TensorFile packed = TensorFile::open(folder / "netvlad_struct.mat");
  const TensorFile plain = TensorFile::open(folder / "netvlad_struct_uncompressed.mat");
  EXPECT_EQ(packed.format(), WeightFormat::matlab);
  EXPECT_TRUE(weights_test::same_tensors(packed.tensors(), plain.tensors()));
}

/// Numbers as SciPy reads them.
TEST(MatGolden, NetVladStruct) {
  RIA_NEEDS_GOLDEN("netvlad");
  const auto variables = read_mat(golden_dir() / "netvlad" / "netvlad_struct.mat");
  const MatValue& net = variables.at("net");
  const MatValue* layers = net.find("layers");
  ASSERT_NE(layers, nullptr);
  ASSERT_EQ(layers->cells.size(), 35u);
  EXPECT_EQ(layers->cells[30].find("name")->rows(), std::vector<std::string>{"vlad:core"});
  EXPECT_EQ(layers->cells[30].find("type")->rows(), std::vector<std::string>{"custom"});
  EXPECT_EQ(layers->cells[1].find("weights")->size(), 0u);

  const Tensor kernel = layers->cells[5].find("weights")->cells.at(0).tensor();
  ASSERT_EQ(kernel.shape, (Integers{3, 3, 4, 8}));
  const auto at = [values = kernel.floats()](int i, int j, int k, int l) {
    return values[static_cast<std::size_t>(((i * 3 + j) * 4 + k) * 8 + l)];
  };
  EXPECT_FLOAT_EQ(at(2, 1, 3, 7), 0.15029812f);
  EXPECT_FLOAT_EQ(at(0, 2, 1, 5), -0.34581798f);
  const MatValue& scores = layers->cells[30].find("weights")->cells.at(0);
  EXPECT_EQ(scores.dims, (Integers{32, 6}));
  EXPECT_FLOAT_EQ(scores.floats()[4 * 32 + 31], 6.506305f);
  EXPECT_FLOAT_EQ(scores.tensor().floats()[31 * 6 + 4], 6.506305f);
  const Tensor whitening = layers->cells[33].find("weights")->cells.at(0).tensor();
  ASSERT_EQ(whitening.shape, (Integers{1, 1, 192, 20}));
  EXPECT_FLOAT_EQ(whitening.floats()[191 * 20 + 3], -0.6147736f);
  const Tensor mean = net.find("meta")->find("normalization")->find("averageImage")->tensor();
  const std::vector<float> pixels = mean.floats();
  EXPECT_EQ(std::vector<float>(pixels.begin(), pixels.begin() + 3),
            (std::vector<float>{123.68f, 116.779f, 103.939f}));
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
  RIA_NEEDS_GOLDEN("checkpoint_formats");
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
  EXPECT_GE(files, 80);
}

}  // namespace
}  // namespace ria
