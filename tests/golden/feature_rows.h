// SPDX-License-Identifier: MIT
// A convolutional plan run on golden pixels.
#pragma once

#include "backbone/conv_backbone.h"
#include "golden/pixels.h"
#include "ria/verify.h"

namespace ria {

inline Matrix rows_of(const FeatureMap& map) {
  return {map.height * map.width, map.channels, map.hwc};
}

inline FeatureMap run_plan(ConvPlan plan,
                           const Pixels& pixels,
                           Precision precision = Precision::kFp32) {
  const ConvNet net(std::move(plan.steps), {plan.output}, precision);
  return std::move(net.run(pixels).front());
}

/// The map at every position and channel against item b of a [B, C, H, W] tensor.
inline void expect_map(const FeatureMap& map,
                       const Tensor& expected,
                       std::int64_t b,
                       double tolerance) {
  ASSERT_EQ(map.height, expected.shape[2]);
  ASSERT_EQ(map.width, expected.shape[3]);
  expect_close(rows_of(map), rows_of_nchw(expected, b), tolerance);
}

/// Of two matrices taken as vectors.
inline double cosine(const Matrix& a, const Matrix& b) { return cosine(a.values(), b.values()); }

}  // namespace ria
