// SPDX-License-Identifier: MIT
// Heads that end with an encoder across pictures.
#pragma once

#include <vector>

#include "head/layers.h"
#include "ria/aggregator.h"

namespace ria {

/// An encoder that compares pictures: every part of one looks at the same part of all others, so
/// that a descriptor depends on the pictures beside it.
struct CrossImage {
  std::vector<RowEncoderLayer> layers;  ///< none: pictures stay as they are

  /// One matrix a picture, its parts as rows, equally many in each.
  void run(std::vector<EigenMatrix>& pictures) const;
};
/// encoder.layers.N of SuperVLAD and CricaVPR.
CrossImage read_cross_image(const HeadTensors& head, int dim);

/// Describes a picture by parts, which the encoder compares with those of the others; then all of
/// them, one after the other, at length one.
class CrossImageHead : public Aggregator {
 public:
  CrossImageHead(CrossImage encoder, int dim) : encoder_(std::move(encoder)), dim_(dim) {}

  int dim() const final { return dim_; }
  Descriptor aggregate(const PatchFeatures& features) const final;
  std::vector<Descriptor> aggregate_together(std::span<const PatchFeatures> pictures) const final;

 protected:
  /// Equally many rows for every picture.
  virtual EigenMatrix parts(const PatchFeatures& features) const = 0;

 private:
  CrossImage encoder_;
  int dim_;
};

}  // namespace ria
