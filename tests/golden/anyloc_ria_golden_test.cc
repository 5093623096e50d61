// SPDX-License-Identifier: MIT
// From pixels to descriptors: facets of the small DINOv2 as AnyLoc takes them, then RIA, GeM and
// VLAD.
#include <gtest/gtest.h>

#include "aggregate/features.h"
#include "aggregate/kmeans.h"
#include "backbone/vit.h"
#include "golden/golden.h"
#include "golden/pixels.h"
#include "nn/gemm.h"
#include "ria/aggregator.h"
#include "ria/vocabulary.h"
#include "tensor_matrix.h"

namespace ria {
namespace {

TEST(AnyLocRiaGolden, FacetsAndDescriptors) {
  RIA_NEEDS_GOLDEN("e2e_anyloc_ria");
  RIA_NEEDS_GOLDEN("dinov2_mlp");
  const auto info = load_case("e2e_anyloc_ria");
  const auto folder = golden_dir() / "e2e_anyloc_ria", network = golden_dir() / "dinov2_mlp";
  const TensorFile inputs = TensorFile::open(folder / "inputs.safetensors");
  const TensorFile outputs = TensorFile::open(folder / "outputs.safetensors");
  const Pixels pixels = pixels_of(TensorFile::open(network / "inputs.safetensors").at("98x154"));
  const auto& config = info.at("config");
  const auto tolerance = [&](const std::string& key) {
    return info.at("tolerance").at(key).at("atol").get<double>();
  };
  for (const std::string file : {"weights_hub.pth", "model.safetensors"}) {
    for (const std::string facet : config.at("facets")) {
      SCOPED_TRACE(file + " " + facet);
      BackboneOptions options;
      options.weights = (network / file).string();
      options.layer = config.at("layer").get<int>();
      options.facet = facet == "value" ? Facet::kValue : Facet::kToken;
      const PatchFeatures features = make_backbone("dinov2", options)->extract(pixels);
      const Matrix unit_rows = features.patches.rowwise().normalized();
      expect_close(unit_rows, matrix_of(outputs.at("descs_" + facet)), tolerance("descs_" + facet));

      RiaOptions ria;
      ria.d = config.at("ria").at("d").get<int>();
      ria.tau = config.at("ria").at("tau").get<double>();
      ria.eps = config.at("ria").at("eps").get<double>();
      ria.iterations = config.at("ria").at("K").get<int>();
      const Matrix projection = matrix_of(inputs.at("P"));
      const auto head = make_ria(static_cast<int>(features.patches.cols()), ria, projection);
      expect_close(head->aggregate(features),
                   vector_of(outputs.at("ria_" + facet)),
                   tolerance("ria_" + facet));

      GemOptions gem;
      gem.p = config.at("gem_p").get<double>();
      gem.sign = GemSign::kPreserve;
      expect_close(make_gem(static_cast<int>(features.patches.cols()), gem)->aggregate(features),
                   vector_of(outputs.at("gem3_" + facet)),
                   tolerance("gem3_" + facet));
      const Matrix centres = read_vocabulary((folder / "c_centers.pt").string());
      const Matrix scores = product(unit_rows, cosine_directions(centres));
      const std::vector<double> labels = outputs.at("labels_" + facet).doubles();
      for (Eigen::Index i = 0; i < scores.rows(); ++i) {
        EXPECT_EQ(largest(scores.row(i).data(), scores.cols()), labels[i]) << "patch " << i;
      }
      expect_close(make_vlad(centres)->aggregate(features),
                   vector_of(outputs.at("vlad_" + facet)),
                   tolerance("vlad_" + facet));
    }
  }
}

TEST(AnyLocRiaGolden, FoldedProjectionAgrees) {
  RIA_NEEDS_GOLDEN("dinov2_mlp");
  const auto network = golden_dir() / "dinov2_mlp";
  const TensorFile inputs = TensorFile::open(network / "inputs.safetensors");
  RiaOptions ria;
  ria.d = 32;
  ria.normalize_patches = false;
  for (const Facet facet : {Facet::kQuery, Facet::kKey, Facet::kValue}) {
    BackboneOptions options;
    options.weights = (network / "weights_hub.pth").string();
    options.facet = facet;
    options.layer = 1;
    const auto whole = make_backbone("dinov2", options);
    const Matrix projection = random_orthogonal(whole->dim(), ria.d, 42);
    const auto folded = whole->folded(projection);
    ASSERT_NE(folded, nullptr);
    EXPECT_EQ(folded->dim(), ria.d);
    RiaOptions rest = ria;
    rest.projection = "none";
    for (const auto& [key, tensor] : inputs.tensors()) {
      const Pixels pixels = pixels_of(tensor);
      const Descriptor a =
          make_ria(whole->dim(), ria, projection)->aggregate(whole->extract(pixels));
      const Descriptor b = make_ria(ria.d, rest)->aggregate(folded->extract(pixels));
      EXPECT_LE((a - b).cwiseAbs().maxCoeff(), 1e-5) << key;
    }
  }
  BackboneOptions token;
  token.weights = (network / "weights_hub.pth").string();
  token.facet = Facet::kToken;
  EXPECT_EQ(make_backbone("dinov2", token)->folded(Matrix::Identity(128, 8)), nullptr);
}

}  // namespace
}  // namespace ria
