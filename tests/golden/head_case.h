// SPDX-License-Identifier: MIT
// A golden case of a head.
#pragma once

#include "golden/golden_case.h"
#include "golden/pixels.h"
#include "golden/tensor_names.h"
#include "ria/backbone.h"

namespace ria {

class HeadCase : public GoldenCaseTest {
 protected:
  using GoldenCaseTest::GoldenCaseTest;

  /// The descriptor of item b as the case has it.
  void expect_descriptor(const Descriptor& actual, const std::string& key, std::int64_t b) const {
    SCOPED_TRACE(key + " item " + std::to_string(b));
    expect_close(actual, row_of(output(key), b), atol(key));
    EXPECT_NEAR(as_eigen(actual).norm(), 1, 1e-6);
  }

  /// Item b of a [B, C, H, W] tensor.
  static PatchFeatures features_of(const Tensor& x, std::int64_t b) {
    return {
        rows_of_nchw(x, b), static_cast<int>(x.shape.at(2)), static_cast<int>(x.shape.at(3)), {}};
  }

  static std::unique_ptr<Backbone> backbone(const std::string& name,
                                            const std::filesystem::path& weights,
                                            const std::string& cut = "") {
    BackboneOptions options;
    options.weights = weights.string();
    options.cut = cut;
    return make_backbone(name, options);
  }
};

}  // namespace ria
