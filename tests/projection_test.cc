// SPDX-License-Identifier: MIT
#include "aggregate/projection.h"

#include <gtest/gtest.h>

namespace ria {
namespace {

TEST(StandardNormal, EqualsPyTorch) {
  // torch.manual_seed(42); torch.randn(5, 7): a length that is no multiple of 16 redraws its end.
  const float expected[] = {
      1.9269152879714966f,  1.4872840642929077f,   0.9007171988487244f,   -2.1055209636688232f,
      0.6784184575080872f,  -1.2345448732376099f,  -0.04306747764348984f, -1.6046669483184814f,
      -0.7521352767944336f, 1.6487230062484741f,   -0.3924786448478699f,  -1.4036071300506592f,
      -0.7278813123703003f, -0.5594301819801331f,  -0.7688388824462891f,  0.7624453902244568f,
      1.6423169374465942f,  -0.1595974713563919f,  -0.4973975419998169f,  1.7173614501953125f,
      0.3188803195953369f,  -0.42451897263526917f, 0.3057209253311157f,   -0.7745925188064575f,
      0.0349123440682888f,  0.3211030066013336f,   1.573600172996521f,    -0.6011420488357544f,
      -1.2741512060165405f, 2.1227850914001465f,   -1.234653115272522f,   -0.4879138767719269f,
      -1.4180599451065063f, 0.8962683081626892f,   0.049905385822057724f};
  const Matrix actual = standard_normal(5, 7, 42);
  for (int i = 0; i < 35; ++i) EXPECT_NEAR(actual.data()[i], expected[i], 2e-6f) << i;
}

TEST(StandardNormal, IsStandardNormal) {
  const Matrix x = standard_normal(1000, 100, 5);
  EXPECT_NEAR(x.mean(), 0, 0.01f);
  EXPECT_NEAR(x.squaredNorm() / static_cast<float>(x.size()), 1, 0.01f);
}

}  // namespace
}  // namespace ria
