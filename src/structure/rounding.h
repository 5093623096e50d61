// SPDX-License-Identifier: MIT
// Floats as small whole numbers of one size.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace ria {

inline constexpr int kByteLevels = 127;

/// As fine as leaves every sum of so many products with bytes within 32 bits, and fits into 16.
inline int query_levels(int values) {
  return static_cast<int>(std::clamp<std::int64_t>(
      std::numeric_limits<std::int32_t>::max() / (std::int64_t{kByteLevels + 1} * values),
      1,
      std::numeric_limits<std::int16_t>::max()));
}

/// The distance of a code from a descriptor of length one: at most 2.
inline constexpr float kErrorLevels = 32767;
inline std::uint16_t rounded_error(double error) {
  return static_cast<std::uint16_t>(std::lrint(std::clamp(error, 0.0, 2.0) * double{kErrorLevels}));
}

/// Whole numbers of at most `levels`, and what one of them stands for.
template <typename T>
float round_to(std::span<const float> values, int levels, T* out) {
  float most = 0;
  for (const float value : values) most = std::max(most, std::abs(value));
  const float steps = most > 0 ? static_cast<float>(levels) / most : 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    out[i] = static_cast<T>(
        std::lrint(std::clamp<double>(static_cast<double>(values[i]) * steps, -levels, levels)));
  }
  return most / static_cast<float>(levels);
}

}  // namespace ria
