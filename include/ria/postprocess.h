// SPDX-License-Identifier: MIT
// What may be done with any method's descriptors, once it is known how those of a place look.
#pragma once

#include <memory>

#include "ria/api.h"
#include "ria/features.h"

namespace ria {

/// Flags and JSON keys carry the fields' names.
struct RIA_API PostprocessOptions {
  bool center = false;  ///< remove the mean descriptor, then L2
  int pca = 0;          ///< keep so many directions of largest variance, then L2; 0: off
  bool whiten = false;  ///< pca: divide each direction by its standard deviation

  /// Whether anything is done.
  bool any() const { return center || pca > 0; }
  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// Fitted on the descriptors of a database (or of other pictures), applied to those of queries too.
class RIA_API Postprocessor {
 public:
  /// Does nothing.
  Postprocessor() = default;
  /// Fitted before: `mean` of dim values, `directions` (dim x kept, empty: all of them as they
  /// are).
  Postprocessor(Vector mean, Matrix directions);

  /// From descriptors, one a row; at most kMostRows of them, evenly spread, decide the directions.
  /// Throws std::invalid_argument where there are fewer rows than directions asked for.
  static Postprocessor fit(const Matrix& descriptors, const PostprocessOptions& options);
  static constexpr int kMostRows = 4096;

  /// Whether nothing was fitted: descriptors stay as they are.
  bool empty() const { return fitted_ == nullptr; }
  /// Nothing where it is empty.
  const Vector& mean() const;
  const Matrix& directions() const;
  /// Length of what comes out for descriptors of this length.
  int dim(int input) const;
  /// Rows are processed each for itself. A descriptor that is the mean itself becomes zero.
  Matrix apply(const Matrix& descriptors) const;
  Descriptor apply(const Descriptor& descriptor) const;

 private:
  struct Fitted;
  std::shared_ptr<const Fitted> fitted_;
};

}  // namespace ria
