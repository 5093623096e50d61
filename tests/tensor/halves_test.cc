// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tensor/tensor.h"

namespace ria {
namespace {

TEST(Halves, EveryHalfSurvives) {
  std::vector<std::uint16_t> all;
  for (int i = 0; i < 65536; ++i) {
    if ((i & 0x7fff) <= 0x7c00) all.push_back(static_cast<std::uint16_t>(i));  // no NaN
  }
  std::vector<float> values(all.size());
  from_halves(all, values);
  EXPECT_EQ(to_halves(values), all);
}

TEST(Halves, AreRoundedAsEigenRounds) {
  std::mt19937 engine(1);
  std::vector<float> values = {0.0f,
                               -0.0f,
                               65504,
                               65519.99f,
                               65520,
                               -1e30f,
                               5.96e-8f,
                               2.98e-8f,
                               2.981e-8f,
                               6.1035e-5f,
                               1.0f / 3,
                               std::numeric_limits<float>::infinity()};
  for (int i = 0; i < 200000; ++i) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(engine()));
    if (!std::isnan(value)) values.push_back(value);
    values.push_back(static_cast<float>(static_cast<int>(engine() % 4001) - 2000) / 977.0f);
  }
  const std::vector<std::uint16_t> halves = to_halves(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(halves[i], Eigen::numext::bit_cast<std::uint16_t>(Eigen::half(values[i])))
        << values[i];
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::uint16_t> half = to_halves({&nan, 1});
  EXPECT_GT(half[0] & 0x7fff, 0x7c00);
}

}  // namespace
}  // namespace ria
