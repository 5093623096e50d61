// SPDX-License-Identifier: MIT
// SelaVPR's global descriptor, from the case's own patch tokens.
#include "golden/head_case.h"
#include "head/heads.h"

namespace ria {
namespace {

class SelaVprHeadGolden : public HeadCase {
 protected:
  SelaVprHeadGolden() : HeadCase("selavpr") {}
};

TEST_F(SelaVprHeadGolden, GlobalDescriptor) {
  if (!has_output("x_norm_patchtokens0") || !has_output("global_feature")) return;
  const auto head = read_selavpr(TensorFile::open(golden().weight_files().at(0)));
  PatchFeatures features;
  features.patches = item_rows(output("x_norm_patchtokens0"), 0);
  EXPECT_EQ(head->dim(), features.patches.cols());
  expect_descriptor(head->aggregate(features), "global_feature", 0);
}

}  // namespace
}  // namespace ria
