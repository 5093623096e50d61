// SPDX-License-Identifier: MIT
// Random numbers that are the same on every machine and with every standard library.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace ria {

/// SplitMix64 (Steele, Lea and Flood, 2014): any seed is a good one.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }

  /// A whole number in [0, count), count above 0, each as likely as the others.
  std::uint64_t below(std::uint64_t count) {
    const std::uint64_t uneven = (0 - count) % count;  // 2^64 modulo count
    std::uint64_t drawn = next();
    while (drawn < uneven) drawn = next();
    return drawn % count;
  }

  /// In [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

/// One seed of several numbers; another for each order of them.
inline std::uint64_t mixed_seed(std::initializer_list<std::uint64_t> numbers) {
  std::uint64_t seed = 0;
  for (const std::uint64_t number : numbers) seed = SplitMix64(seed ^ number).next();
  return seed;
}

/// Every order is as likely as the others.
template <typename T>
void shuffle(std::vector<T>& values, SplitMix64& random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
}

}  // namespace ria
