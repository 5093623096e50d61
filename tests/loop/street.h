// SPDX-License-Identifier: MIT
// A street without pictures: columns of random patches that a camera sees some of at a time.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "ria/loop.h"

namespace ria::loop_test {

inline constexpr int kRows = 6, kColumns = 16, kPatch = 64;

/// Patches of a column of the world, and what it adds to a descriptor.
struct Column {
  std::vector<float> patches, look;
};

inline Column column_of(int column, int dim) {
  std::mt19937 random(static_cast<unsigned>(column) * 2654435761u + 17);
  std::normal_distribution<float> normal;
  Column made{std::vector<float>(kRows * kPatch), std::vector<float>(dim)};
  for (float& value : made.patches) value = normal(random);
  for (float& value : made.look) value = normal(random);
  return made;
}

inline void to_unit(float* values, int count) {
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i] * values[i];
  for (int i = 0; i < count; ++i) values[i] /= std::sqrt(sum);
}

/// What a camera sees that stands at this column; `visit` makes the noise, and `change` its share.
inline DescribedPicture view(int at, int dim, unsigned visit = 0, float change = 0.3f) {
  std::mt19937 random(static_cast<unsigned>(at) * 31 + visit * 1000003 + 5);
  std::normal_distribution<float> normal;
  LocalFeatures local{Matrix(kRows * kColumns, kPatch), kRows, kColumns, true};
  DescribedPicture picture;
  picture.descriptor.assign(dim, 0);
  for (int c = 0; c < kColumns; ++c) {
    const Column column = column_of(at + c, dim);
    for (int row = 0; row < kRows; ++row) {
      float* patch = local.vectors.row(row * kColumns + c).data();
      for (int i = 0; i < kPatch; ++i) {
        patch[i] = column.patches[row * kPatch + i] + change * normal(random);
      }
      to_unit(patch, kPatch);
    }
    for (int i = 0; i < dim; ++i) {
      picture.descriptor[i] += column.look[i] + change * normal(random);
    }
  }
  to_unit(picture.descriptor.data(), dim);
  picture.local = pack(local);
  return picture;
}

inline constexpr int kStep = 6;  // columns from picture to picture

inline const char kMethod[] = "rootsift-ria:d=16,rerank=patches";

/// Options that fit streets of a hundred pictures.
inline LoopOptions short_streets() {
  LoopOptions options;
  options.recent = 10;
  options.num_threads = 1;
  return options;
}

}  // namespace ria::loop_test
