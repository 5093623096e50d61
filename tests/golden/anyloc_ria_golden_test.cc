// SPDX-License-Identifier: MIT
// From pixels to descriptors: facets of a small DINOv2 as AnyLoc takes them, then RIA, GeM and
// VLAD.
#include "aggregate/features.h"
#include "aggregate/kmeans.h"
#include "backbone/vit.h"
#include "golden/anyloc_gem.h"
#include "golden/dinov2_cases.h"
#include "golden/pixels.h"
#include "golden/reference.h"
#include "nn/gemm.h"
#include "ria/aggregator.h"
#include "ria/vocabulary.h"
#include "support/tensor_matrix.h"

namespace ria {
namespace {

class AnyLocRiaGolden : public GoldenCaseTest {
 protected:
  AnyLocRiaGolden() : GoldenCaseTest("e2e_anyloc_ria") {}

  void expect_descriptor(const Aggregator& head,
                         const PatchFeatures& features,
                         const std::string& key) {
    if (!has_output(key)) return;
    SCOPED_TRACE(key);
    expect_close(head.aggregate(features), output(key).floats(), atol(key));
  }

  void check_ria(const PatchFeatures& features, const std::string& facet) {
    if (!has_input("P")) return;
    const auto& settings = config().at("ria");
    RiaOptions options;
    options.d = settings.at("d").get<int>();
    options.tau = settings.at("tau").get<double>();
    options.eps = settings.at("eps").get<double>();
    options.iterations = settings.at("K").get<int>();
    const auto head = make_ria(features.patches.cols(), options, matrix_of(input("P")));
    expect_descriptor(*head, features, "ria_" + facet);
  }

  /// The output is called gem3_<facet> where p is 3.
  void check_gem(const PatchFeatures& features, const std::string& facet) {
    const auto head =
        make_gem(features.patches.cols(), anyloc_gem(config().at("gem_p").get<double>()));
    for (const std::string& key : golden().outputs().names()) {
      if (key.starts_with("gem") && key.ends_with("_" + facet)) {
        return expect_descriptor(*head, features, key);
      }
    }
    leave_out("output gem*_" + facet);
  }

  void check_vlad(const PatchFeatures& features, const std::string& facet) {
    if (!has_input("c_centers")) return;
    const Matrix centres = matrix_of(input("c_centers"));
    EXPECT_EQ(centres.rows(), config().at("vlad_K").get<int>());
    expect_descriptor(*make_vlad(centres), features, "vlad_" + facet);
    if (!has_output("labels_" + facet)) return;
    const EigenMatrix scores =
        product(normalized_rows(as_eigen(features.patches)), cosine_directions(centres));
    const std::vector<double> labels = output("labels_" + facet).doubles();
    ASSERT_EQ(scores.rows(), std::ssize(labels));
    for (Eigen::Index i = 0; i < scores.rows(); ++i) {
      EXPECT_EQ(largest(scores.row(i).data(), scores.cols()), labels[i]) << "patch " << i;
    }
  }
};

TEST_F(AnyLocRiaGolden, FacetsAndDescriptors) {
  const auto files = referenced_weights(config().at("backbone"));
  const auto images = referenced_tensor(config().at("input"));
  if (files.empty() || !images) return leave_out("the network or input it refers to");
  for (const std::filesystem::path& file : files) {
    for (const std::string facet : config().at("facets")) {
      SCOPED_TRACE(file.filename().string() + " " + facet);
      BackboneOptions options;
      options.weights = file.string();
      options.layer = config().at("layer").get<int>();
      options.facet = facet_of(facet);
      const PatchFeatures features = make_backbone("dinov2", options)->extract(pixels_of(*images));
      const std::string key = "descs_" + facet;
      if (has_output(key)) {
        const EigenMatrix unit_rows = normalized_rows(as_eigen(features.patches));
        expect_close(to_matrix(unit_rows), matrix_of(output(key)), atol(key));
      }
      check_ria(features, facet);
      check_gem(features, facet);
      check_vlad(features, facet);
    }
  }
}

TEST_F(AnyLocRiaGolden, VocabularyFileHoldsTheCentres) {
  const auto files = golden().files_like("", ".pt");
  if (files.empty()) return leave_out("a vocabulary file");
  if (!has_input("c_centers")) return;
  const Matrix centres = matrix_of(input("c_centers"));
  EXPECT_EQ(read_vocabulary(files.front().string(), static_cast<int>(centres.cols())), centres);
}

TEST(FoldedProjectionGolden, Agrees) {
  const auto cases = dinov2_cases();
  if (cases.empty()) GTEST_SKIP() << "no case of DINOv2 in " << golden_dir().string();
  for (const GoldenCase& golden : cases) {
    SCOPED_TRACE(golden.name());
    ASSERT_FALSE(golden.weight_files().empty());
    BackboneOptions options;
    options.weights = golden.weight_files().front().string();
    options.layer = golden.config().at("depth").get<int>() - 1;
    RiaOptions ria;
    ria.d = golden.config().at("embed_dim").get<int>() / 4;
    ria.normalize_patches = false;
    RiaOptions rest = ria;
    rest.projection = "none";
    for (const Facet facet : {Facet::kQuery, Facet::kKey, Facet::kValue}) {
      options.facet = facet;
      const auto whole = make_backbone("dinov2", options);
      const Matrix projection = random_orthogonal(whole->dim(), ria.d, 42);
      const auto folded = whole->folded(projection);
      ASSERT_NE(folded, nullptr);
      EXPECT_EQ(folded->dim(), ria.d);
      for (const auto& [key, tensor] : golden.inputs().tensors()) {
        const Pixels pixels = pixels_of(tensor);
        const Descriptor a =
            make_ria(whole->dim(), ria, projection)->aggregate(whole->extract(pixels));
        const Descriptor b = make_ria(ria.d, rest)->aggregate(folded->extract(pixels));
        EXPECT_LE((as_eigen(a) - as_eigen(b)).cwiseAbs().maxCoeff(), 1e-5) << key;
      }
    }
    options.facet = Facet::kToken;
    const auto token = make_backbone("dinov2", options);
    EXPECT_EQ(token->folded(Matrix(token->dim(), 8)), nullptr);
  }
}

}  // namespace
}  // namespace ria
