// SPDX-License-Identifier: MIT
// VLAD and its k-means against AnyLoc's, and the vocabularies AnyLoc published.
#include <cmath>
#include <regex>

#include "aggregate/features.h"
#include "aggregate/kmeans.h"
#include "golden/golden_case.h"
#include "golden/pixels.h"
#include "nn/gemm.h"
#include "ria/aggregator.h"
#include "ria/vocabulary.h"
#include "support/tensor_matrix.h"

namespace ria {
namespace {

namespace fs = std::filesystem;

std::vector<double> nearest(const Matrix& rows, const Matrix& centres) {
  const EigenMatrix scores = product(as_eigen(rows), cosine_directions(centres));
  std::vector<double> labels;
  for (Eigen::Index i = 0; i < scores.rows(); ++i) {
    labels.push_back(static_cast<double>(largest(scores.row(i).data(), scores.cols())));
  }
  return labels;
}

class VladGolden : public GoldenCaseTest {
 protected:
  VladGolden() : GoldenCaseTest("vlad") {}

  void SetUp() override {
    GoldenCaseTest::SetUp();
    if (IsSkipped()) return;
    patches_ = {matrix_of(input("descs")), 0, 0, {}};
    const int dim = patches_.patches.cols();
    for (const fs::path& file : golden().weight_files()) {
      vocabularies_.push_back(read_vocabulary(file.string(), dim));
    }
    ASSERT_FALSE(vocabularies_.empty());
    centres_ = vocabularies_.front();
  }

  void expect_centres(const std::string& name, const Matrix& found) {
    if (has_output(name)) expect_close(found, matrix_of(output(name)), atol(name));
  }

  PatchFeatures patches_;
  std::vector<Matrix> vocabularies_;  ///< of each file
  Matrix centres_;
};

/// hard, hard_nointra, hard_nonorm, soft, soft_t10 ...; nothing for other names.
std::optional<VladOptions> options_of(const std::string& name) {
  std::smatch match;
  if (!std::regex_match(name, match, std::regex("(hard|soft)(_nointra|_nonorm)?(?:_t(\\d+))?"))) {
    return std::nullopt;
  }
  VladOptions options;
  options.vlad_soft = match[1] == "soft";
  options.intra_normalize = match[2] != "_nointra";
  options.normalize_patches = match[2] != "_nonorm";
  if (match[3].matched) options.soft_temperature = std::stod(match[3]);
  return options;
}

TEST_F(VladGolden, DescriptorsOfEveryKind) {
  if (has_output("labels")) {
    EXPECT_EQ(nearest(patches_.patches, centres_), output("labels").doubles());
  }
  int checked = 0;
  for (const std::string& name : golden().outputs().names()) {
    if (name == "labels" || name.starts_with("kmeans.")) continue;
    SCOPED_TRACE(name);
    const auto options = options_of(name);
    ASSERT_TRUE(options) << "unknown kind";
    const auto head = make_vlad(centres_, *options);
    EXPECT_EQ(head->dim(), static_cast<int>(centres_.size()));
    expect_close(head->aggregate(patches_), output(name).floats(), atol(name));
    ++checked;
  }
  if (checked == 0) leave_out("any descriptor");
}

TEST_F(VladGolden, ACentreWithoutPatchesStaysZero) {
  std::vector<int> used = config().at("used_clusters");
  const EigenVector v = as_eigen(make_vlad(centres_)->aggregate(patches_));
  const int dim = centres_.cols();
  for (int k = 0; k < centres_.rows(); ++k) {
    const bool is_used = std::find(used.begin(), used.end(), k) != used.end();
    EXPECT_EQ(v.segment(k * dim, dim).isZero(0), !is_used) << k;
  }
  if (std::ssize(used) == centres_.rows()) leave_out("a centre without patches");
}

TEST_F(VladGolden, KMeansFromTheGivenStart) {
  if (!has_input("kmeans.init")) return;
  const Matrix rows = to_matrix(normalized_rows(as_eigen(patches_.patches)));
  const Matrix start = matrix_of(input("kmeans.init"));
  KMeansOptions once;
  once.max_iterations = 1;
  const KMeans first = cosine_kmeans(MatrixRows(rows), start, once);
  expect_centres("kmeans.centroids_after1", first.centres);
  const KMeans all = cosine_kmeans(MatrixRows(rows), start);
  EXPECT_TRUE(all.converged);
  expect_centres("kmeans.centroids", all.centres);
  if (has_output("kmeans.labels")) {
    EXPECT_EQ(nearest(rows, all.centres), output("kmeans.labels").doubles());
  }
  EXPECT_EQ(first.converged, all.iterations == 1);
  if (all.iterations > 1) {
    EXPECT_GT(all.mean_cosine, first.mean_cosine);
  }
}

TEST_F(VladGolden, TheSameCentresFromEveryContainer) {
  EXPECT_EQ(centres_.rows(), config().at("K").get<int>());
  for (const Matrix& centres : vocabularies_) EXPECT_EQ(centres, centres_);
  if (vocabularies_.size() < 2) leave_out("the centres in a second container");
}

TEST(PublishedVocabularies, AreReadWithTheirShape) {
  const fs::path folder = beside_goldens("vocabularies") / "dinov2_vitg14" / "l31_value_c32";
  if (!fs::exists(folder)) GTEST_SKIP() << "no published vocabularies in " << folder.string();
  int found = 0;
  for (const auto& domain : fs::directory_iterator(folder)) {
    SCOPED_TRACE(domain.path().string());
    const Matrix centres = read_vocabulary((domain.path() / "c_centers.pt").string(), 1536);
    EXPECT_EQ(centres.rows(), 32);
    const EigenVector lengths = as_eigen(centres).rowwise().norm();
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
