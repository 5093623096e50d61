// SPDX-License-Identifier: MIT
// VLAD and its k-means against AnyLoc's, and the vocabularies AnyLoc published.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "aggregate/features.h"
#include "aggregate/kmeans.h"
#include "golden/golden.h"
#include "golden/pixels.h"
#include "nn/gemm.h"
#include "ria/aggregator.h"
#include "ria/vocabulary.h"
#include "tensor_matrix.h"
#include "weights/tensor.h"

namespace ria {
namespace {

namespace fs = std::filesystem;

std::vector<double> nearest(const Matrix& rows, const Matrix& centres) {
  const Matrix scores = product(rows, cosine_directions(centres));
  std::vector<double> labels;
  for (Eigen::Index i = 0; i < scores.rows(); ++i) {
    labels.push_back(static_cast<double>(largest(scores.row(i).data(), scores.cols())));
  }
  return labels;
}

class VladGolden : public ::testing::Test {
 protected:
  void SetUp() override {
    RIA_NEEDS_GOLDEN("vlad");
    info_ = load_case("vlad");
    inputs_ = TensorFile::open(folder_ / "inputs.safetensors");
    outputs_ = TensorFile::open(folder_ / "outputs.safetensors");
    patches_ = {matrix_of(inputs_->at("descs")), 0, 0, {}};
    centres_ = read_vocabulary((folder_ / "c_centers.pt").string(), 32);
  }

  double atol(const std::string& name) const {
    return info_.at("tolerance").at(name).at("atol").get<double>();
  }

  void expect_descriptor(const std::string& name, const VladOptions& options) const {
    SCOPED_TRACE(name);
    const auto head = make_vlad(centres_, options);
    EXPECT_EQ(head->dim(), centres_.size());
    expect_close(head->aggregate(patches_), vector_of(outputs_->at(name)), atol(name));
  }

  void expect_centres(const std::string& name, const Matrix& found) const {
    expect_close(found, matrix_of(outputs_->at(name)), atol(name));
  }

  const fs::path folder_ = golden_dir() / "vlad";
  nlohmann::json info_;
  std::optional<TensorFile> inputs_, outputs_;
  PatchFeatures patches_;
  Matrix centres_;
};

TEST_F(VladGolden, DescriptorsOfEveryKind) {
  EXPECT_EQ(nearest(patches_.patches, centres_), outputs_->at("labels").doubles());
  VladOptions options;
  expect_descriptor("hard", options);
  options.intra_normalize = false;
  expect_descriptor("hard_nointra", options);
  options = {};
  options.normalize_patches = false;
  expect_descriptor("hard_nonorm", options);
  options = {};
  options.vlad_soft = true;
  expect_descriptor("soft", options);
  options.soft_temperature = 10;
  expect_descriptor("soft_t10", options);
}

TEST_F(VladGolden, ACentreWithoutPatchesStaysZero) {
  std::vector<int> used = info_.at("config").at("used_clusters");
  const Descriptor v = make_vlad(centres_)->aggregate(patches_);
  const Eigen::Index dim = centres_.cols();
  for (Eigen::Index k = 0; k < centres_.rows(); ++k) {
    const bool is_used = std::find(used.begin(), used.end(), k) != used.end();
    EXPECT_EQ(v.segment(k * dim, dim).isZero(0), !is_used) << k;
  }
}

TEST_F(VladGolden, KMeansFromTheGivenStart) {
  const Matrix rows = normalized_rows(patches_.patches);
  const Matrix start = matrix_of(inputs_->at("kmeans.init"));
  KMeansOptions once;
  once.max_iterations = 1;
  const KMeans first = cosine_kmeans(MatrixRows(rows), start, once);
  expect_centres("kmeans.centroids_after1", first.centres);
  EXPECT_FALSE(first.converged);
  const KMeans all = cosine_kmeans(MatrixRows(rows), start);
  EXPECT_TRUE(all.converged);
  expect_centres("kmeans.centroids", all.centres);
  EXPECT_EQ(nearest(rows, all.centres), outputs_->at("kmeans.labels").doubles());
  EXPECT_GT(all.mean_cosine, first.mean_cosine);
}

TEST_F(VladGolden, TheSameCentresFromEveryContainer) {
  EXPECT_EQ(centres_.rows(), info_.at("config").at("K").get<int>());
  EXPECT_EQ(read_vocabulary((folder_ / "c_centers.safetensors").string(), 32), centres_);
}

TEST(PublishedVocabularies, AreReadWithTheirShape) {
  const fs::path folder =
      golden_dir().parent_path() / "vocabularies" / "dinov2_vitg14" / "l31_value_c32";
  if (!fs::exists(folder)) GTEST_SKIP() << "no published vocabularies in " << folder.string();
  int found = 0;
  for (const auto& domain : fs::directory_iterator(folder)) {
    SCOPED_TRACE(domain.path().string());
    const Matrix centres = read_vocabulary((domain.path() / "c_centers.pt").string(), 1536);
    EXPECT_EQ(centres.rows(), 32);
    const Vector lengths = centres.rowwise().norm();
    // Means of rows of length one: shorter than those, and none lost all its rows.
    EXPECT_LT(lengths.maxCoeff(), 1);
    EXPECT_GT(lengths.minCoeff(), 0.1f);
    EXPECT_EQ(make_vlad(centres)->dim(), 49152);
    ++found;
  }
  EXPECT_GE(found, 1);
}

}  // namespace
}  // namespace ria
