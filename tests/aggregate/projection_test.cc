// SPDX-License-Identifier: MIT
#include "aggregate/projection.h"

#include <gtest/gtest.h>

namespace ria {
namespace {

TEST(StandardNormal, EqualsNumpy) {
  // numpy.random.RandomState(42).normal(size=(3, 5))
  const double expected[] = {0.4967141530112327,
                             -0.13826430117118466,
                             0.6476885381006925,
                             1.5230298564080254,
                             -0.23415337472333597,
                             -0.23413695694918055,
                             1.5792128155073915,
                             0.7674347291529088,
                             -0.4694743859349521,
                             0.5425600435859647,
                             -0.46341769281246226,
                             -0.46572975357025687,
                             0.24196227156603412,
                             -1.913280244657798,
                             -1.7249178325130328};
  const EigenMatrixD actual = standard_normal(3, 5, 42);
  for (int i = 0; i < 15; ++i) EXPECT_NEAR(actual.data()[i], expected[i], 1e-14) << i;
}

TEST(StandardNormal, IsStandardNormal) {
  const EigenMatrixD x = standard_normal(1000, 100, 5);
  EXPECT_NEAR(x.mean(), 0, 0.01);
  EXPECT_NEAR(x.squaredNorm() / static_cast<double>(x.size()), 1, 0.01);
}

}  // namespace
}  // namespace ria
