// SPDX-License-Identifier: MIT
// How much a cheaper arithmetic changes what a method says of one's own pictures.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "ria/api.h"
#include "ria/recognizer.h"

namespace ria {

/// How alike the two are on one picture: cosines, 1 = the same direction.
struct PictureAgreement {
  std::string name;
  double patches_mean = 0;   ///< over the picture's patches
  double patches_worst = 0;  ///< the patch that agrees least
  double descriptor = 0;
};

/// How alike the two are on all pictures.
struct PrecisionComparison {
  std::vector<PictureAgreement> pictures;  ///< those that could be described, in their order
  std::vector<Failure> failures;
  double patches_mean = 0;  ///< over the pictures
  double patches_worst = 0;
  double descriptor_mean = 0;
  double descriptor_worst = 0;
};

/// Cosine of two vectors; two zero vectors agree, a zero and another do not.
RIA_API double cosine(std::span<const float> a, std::span<const float> b);

/// Describes the pictures with a method under two sets of options, which may differ in whatever
/// leaves the patches where they are (backbone.precision, say), and compares patch by patch. A
/// projection that is fitted is fitted with the first and used by both. Throws
/// std::invalid_argument if the two see different grids, Interrupted if run.stop was requested.
RIA_API PrecisionComparison compare_precisions(const std::string& method,
                                               const MethodOptions& a,
                                               const MethodOptions& b,
                                               const std::vector<std::filesystem::path>& pictures,
                                               const RunOptions& run = {});

}  // namespace ria
