// SPDX-License-Identifier: MIT
// A convolutional plan run on golden pixels.
#pragma once

#include <nlohmann/json.hpp>

#include "backbone/conv_backbone.h"
#include "golden/pixels.h"

namespace ria {

inline Matrix rows_of(const FeatureMap& map) {
  return Eigen::Map<const Matrix>(
      map.hwc.data(), static_cast<Eigen::Index>(map.height) * map.width, map.channels);
}

inline FeatureMap run_plan(ConvPlan plan,
                           const Pixels& pixels,
                           Precision precision = Precision::kFp32) {
  const ConvNet net(std::move(plan.steps), {plan.output}, precision);
  return std::move(net.run(pixels).front());
}

/// The map at every position and channel, within the tolerance of the case.
inline void expect_map(const FeatureMap& map,
                       const Tensor& expected,
                       const nlohmann::json& tolerance) {
  ASSERT_EQ(map.height, expected.shape[2]);
  ASSERT_EQ(map.width, expected.shape[3]);
  expect_close(rows_of(map), rows_of_nchw(expected, 0), tolerance.at("atol").get<double>());
}

/// Of two matrices taken as vectors.
inline double cosine(const Matrix& a, const Matrix& b) {
  const auto x = a.cast<double>(), y = b.cast<double>();
  return x.cwiseProduct(y).sum() / (x.norm() * y.norm());
}

}  // namespace ria
