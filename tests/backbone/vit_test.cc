// SPDX-License-Identifier: MIT
// A transformer of published size with made-up weights, the way a user has it: a file and a method.
#include <gtest/gtest.h>

#include "method/random_weights.h"
#include "ria/eigen.h"
#include "ria/recognizer.h"
#include "ria/simulate.h"
#include "ria/verify.h"
#include "support/cache_in.h"
#include "support/temporary_folder.h"
#include "tensor/safetensors.h"

namespace ria {
namespace {

class VitBackboneTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    write_safetensors(weights(), random_backbone("dinov2-vits14").tensors());
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::filesystem::path weights() { return folder_->path() / "vits14.safetensors"; }

  static MethodOptions options() {
    MethodOptions result;
    result.backbone.weights = weights().string();
    result.longest_side = 196;
    return result;
  }
  static Image picture(int place) {
    return render_street({0, 10.0 * place}, Condition::kDay, 120, 160, 1);
  }
  static inline TemporaryFolder* folder_ = nullptr;
};

TEST_F(VitBackboneTest, DescribesPictures) {
  const Recognizer recognizer("dinov2-vits14-ria", options());
  EXPECT_EQ(recognizer.backbone().dim(), 384);
  EXPECT_EQ(recognizer.dim(), 2080);
  const Descriptor v = recognizer.describe(picture(0));
  EXPECT_NEAR(as_eigen(v).norm(), 1, 1e-5);
  EXPECT_EQ(v, recognizer.describe(picture(0)));
  for (const int cores : {1, 2, 3, 5}) {  // threads share panels
    set_thread_cores(cores);
    EXPECT_EQ(v, recognizer.describe(picture(0))) << cores;
  }
  set_thread_cores(0);
  EXPECT_LT(cosine(v, recognizer.describe(picture(3))), 0.9999);
}

TEST_F(VitBackboneTest, OnlyWhatIsNeededIsComputed) {
  const auto flops = [](int layer, Facet facet) {
    BackboneOptions backbone;
    backbone.weights = weights().string();
    backbone.layer = layer;
    backbone.facet = facet;
    return make_backbone("dinov2-vits14", backbone)->flops(224, 224);
  };
  const double tokens = 257, dim = 384;
  const double block = tokens * (24 * dim * dim + 4 * tokens * dim);
  EXPECT_DOUBLE_EQ(flops(9, Facet::kToken) - flops(8, Facet::kToken), block);
  // A facet of block 9 is nine blocks and one third of the tenth's first layer.
  EXPECT_DOUBLE_EQ(flops(9, Facet::kValue) - flops(8, Facet::kToken), 2 * tokens * dim * dim);
}

TEST_F(VitBackboneTest, ProjectionIsFoldedWhereItMeetsTheFacet) {
  MethodOptions plain = options();
  plain.ria.normalize_patches = false;
  const Recognizer folded("dinov2-vits14-ria", plain);
  EXPECT_EQ(folded.backbone().dim(), 64);
  EXPECT_EQ(folded.dim(), 2080);
  const auto whole = make_backbone("dinov2-vits14", plain.backbone);
  const auto head = make_ria(384, plain.ria);
  const Descriptor expected =
      head->aggregate(whole->extract(preprocess(picture(1), folded.preprocessing())));
  const Descriptor actual = folded.describe(picture(1));
  EXPECT_LE((as_eigen(actual) - as_eigen(expected)).cwiseAbs().maxCoeff(), 1e-5);
  // Tokens are not linear in what comes before: nothing to fold into.
  plain.backbone.facet = Facet::kToken;
  EXPECT_EQ(Recognizer("dinov2-vits14-ria", plain).backbone().dim(), 384);
}

TEST_F(VitBackboneTest, EightBitsAreNear) {
  MethodOptions quick = options();
  quick.backbone.precision = Precision::kInt8;
  const Recognizer exact("dinov2-vits14-ria", options()), rounded("dinov2-vits14-ria", quick);
  for (int place = 0; place < 3; ++place) {
    const Descriptor a = exact.describe(picture(place)), b = rounded.describe(picture(place));
    EXPECT_GE(cosine(a, b), 0.995);
    EXPECT_NE(a, b);
  }
}

TEST_F(VitBackboneTest, OptionsComeBackFromAnIndex) {
  MethodOptions asked = options();
  asked.backbone.layer = 5;
  asked.backbone.facet = Facet::kKey;
  asked.backbone.position_rule = PositionRule::kHf;
  asked.backbone.stride = 7;
  asked.backbone.precision = Precision::kInt8;
  const Recognizer recognizer("dinov2-vits14-gem", asked);
  const MethodOptions back = parse_options_json(recognizer.header().options);
  EXPECT_EQ(back.backbone.layer, 5);
  EXPECT_EQ(back.backbone.facet, Facet::kKey);
  EXPECT_EQ(back.backbone.position_rule, PositionRule::kHf);
  EXPECT_EQ(back.backbone.stride, 7);
  EXPECT_EQ(back.backbone.precision, Precision::kInt8);
  const auto features =
      recognizer.backbone().extract(Pixels{98, 112, std::vector<float>(3u * 98 * 112, 0.5f)});
  EXPECT_EQ(features.grid_height, 13);
  EXPECT_EQ(features.grid_width, 15);
}

TEST_F(VitBackboneTest, WrongOptionsAreNamed) {
  const auto message = [](const std::string& name, auto change) -> std::string {
    BackboneOptions backbone;
    backbone.weights = weights().string();
    change(backbone);
    try {
      make_backbone(name, backbone);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("dinov2-vits14", [](auto& o) { o.layer = 12; }),
            "layer is 12, 0 to 11 was expected");
  EXPECT_EQ(message("dinov2-vits14", [](auto& o) { o.stride = 15; }),
            "stride is 15, at most the patch size 14 was expected");
  EXPECT_EQ(message("dinov2-vits14",
                    [](auto& o) {
                      o.final_norm = true;
                      o.facet = Facet::kKey;
                    }),
            "final_norm goes with facet token only");
  EXPECT_EQ(message("dinov2-vitb14", [](auto&) {}),
            weights().string() + " holds dinov2-vits14, dinov2-vitb14 was expected");
  EXPECT_EQ(message("dino", [](auto&) {}),
            weights().string() + " holds dinov2-vits14, dino was expected");
}

}  // namespace
}  // namespace ria
