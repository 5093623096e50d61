// SPDX-License-Identifier: MIT
// SelaVPR's global descriptor, from the case's own patch tokens.
#include "aggregate/heads.h"
#include "golden/head_case.h"

namespace ria {
namespace {

class SelaVprHeadGolden : public HeadCase {
 protected:
  SelaVprHeadGolden() : HeadCase("selavpr") {}
};

TEST_F(SelaVprHeadGolden, GlobalDescriptor) {
  const auto head = read_selavpr(open("checkpoint.pth"));
  const Tensor& tokens = output("x_norm_patchtokens0");
  const std::vector<float> values = tokens.floats();
  PatchFeatures features;
  features.patches =
      Eigen::Map<const Matrix>(values.data(), tokens.shape.at(1), tokens.shape.at(2));
  EXPECT_EQ(head->dim(), features.patches.cols());
  expect_descriptor(head->aggregate(features), "global_feature", 0);
}

}  // namespace
}  // namespace ria
