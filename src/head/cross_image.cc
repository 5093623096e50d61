// SPDX-License-Identifier: MIT
#include "head/cross_image.h"

#include <fmt/format.h>

#include "aggregate/features.h"

namespace ria {

void CrossImage::run(std::vector<EigenMatrix>& pictures) const {
  if (layers.empty() || pictures.empty()) return;
  const Eigen::Index parts = pictures.front().rows(), count = std::ssize(pictures);
  EigenMatrix x(parts * count, pictures.front().cols());  // [part][picture]
  for (Eigen::Index p = 0; p < parts; ++p) {
    for (Eigen::Index i = 0; i < count; ++i) x.row(p * count + i) = pictures[i].row(p);
  }
  for (const RowEncoderLayer& layer : layers) layer.run(x, static_cast<int>(parts));
  for (Eigen::Index p = 0; p < parts; ++p) {
    for (Eigen::Index i = 0; i < count; ++i) pictures[i].row(p) = x.row(p * count + i);
  }
}

CrossImage read_cross_image(const HeadTensors& head, int dim) {
  constexpr int kHeads = 16;  // whatever the width
  CrossImage encoder;
  for (int i = 0, count = head.count("encoder.layers"); i < count; ++i) {
    encoder.layers.push_back(
        read_encoder_layer(head, fmt::format("encoder.layers.{}", i), dim, kHeads, gelu));
  }
  return encoder;
}

Descriptor CrossImageHead::aggregate(const PatchFeatures& features) const {
  return aggregate_together({&features, 1}).front();
}

std::vector<Descriptor> CrossImageHead::aggregate_together(
    std::span<const PatchFeatures> pictures) const {
  std::vector<EigenMatrix> all;
  for (const PatchFeatures& features : pictures) all.push_back(parts(features));
  encoder_.run(all);
  std::vector<Descriptor> descriptors;
  for (const EigenMatrix& one : all) {
    descriptors.push_back(
        unit(Eigen::Map<const EigenVector>(one.data(), one.size()).cast<double>()));
  }
  return descriptors;
}

}  // namespace ria
