// SPDX-License-Identifier: MIT
#include "rerank/bits.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <random>

#include "rerank/blocks.h"
#include "rerank/votes.h"
#include "support/all_kernels.h"

namespace ria {

namespace {

/// Rows of bits of which `free` in 32 vary: with few of them many distances are equal.
PackedLocalFeatures random_bits(
    int height, int width, int words, std::uint32_t free, unsigned seed) {
  std::mt19937 engine(seed);
  PackedLocalFeatures packed{{}, 32 * words, height, width};
  packed.bytes.resize(static_cast<std::size_t>(height) * width * words * 4);
  for (std::size_t i = 0; i < packed.bytes.size(); i += 4) {
    const std::uint32_t word = (engine() & free) | 0x80000000u;
    std::memcpy(&packed.bytes[i], &word, 4);
  }
  return packed;
}

int distance(const BitGrid& a, int i, const BitGrid& b, int j) {
  int sum = 0;
  for (int byte = 0; byte < 4 * a.words; ++byte)
    sum += std::popcount(static_cast<std::uint8_t>(a.row(i)[byte] ^ b.row(j)[byte]));
  return sum;
}

/// The cell of `b` nearest to cell i of `a`, the first of equals.
int nearest(const BitGrid& a, int i, const BitGrid& b) {
  int best = 0;
  for (int j = 1; j < b.cells(); ++j)
    if (distance(a, i, b, j) < distance(a, i, b, best)) best = j;
  return best;
}

class BitMatcherTest : public testing::TestWithParam<const PanelKernels*> {};

TEST_P(BitMatcherTest, EqualsBruteForceWithTies) {
  constexpr int kSizes[][3] = {
      {1, 1, 1}, {1, 50, 1}, {50, 1, 2}, {7, 25, 8}, {49, 6, 33}, {60, 53, 64}};
  for (const auto& [cells, others, words] : kSizes) {
    for (const std::uint32_t free : {0x7u, 0xffffffffu}) {
      const PackedLocalFeatures a = random_bits(1, cells, words, free, 1);
      const PackedLocalFeatures b = random_bits(others, 1, words, free, 2);
      const BitGrid query(a), place(b);
      BitMatcher matcher(query, *GetParam());
      const auto actual = matcher.match(place);
      std::vector<BitMatch> expected;
      for (int i = 0; i < query.cells(); ++i) {
        const int j = nearest(query, i, place);
        if (nearest(place, j, query) == i) expected.push_back({i, j, distance(query, i, place, j)});
      }
      ASSERT_EQ(actual.size(), expected.size()) << cells << " x " << others;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(actual[i].query, expected[i].query);
        EXPECT_EQ(actual[i].place, expected[i].place);
        EXPECT_EQ(actual[i].distance, expected[i].distance);
      }
    }
  }
}

TEST_P(BitMatcherTest, MemoryIsUsedAgain) {
  const PackedLocalFeatures a = random_bits(5, 7, 3, 0xffffffffu, 1);
  const BitGrid query(a);
  BitMatcher used(query, *GetParam());
  for (const int others : {90, 3, 60}) {
    const PackedLocalFeatures b = random_bits(1, others, 3, 0xffffffffu, others);
    BitMatcher fresh(query, *GetParam());
    const auto actual = used.match(BitGrid(b)), expected = fresh.match(BitGrid(b));
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(actual[i].place, expected[i].place);
  }
}

TEST_P(BitMatcherTest, DistancesOfRowsEqualBruteForce) {
  for (const int words : {1, 2, 9}) {
    const PackedLocalFeatures a = random_bits(1, 5, words, 0xffffffffu, 1);
    const PackedLocalFeatures b = random_bits(1, 5, words, 0xffffffffu, 2);
    const BitGrid some(a), others(b);
    std::vector<std::int32_t> distances(5);
    GetParam()->row_distances(some.row(0), others.row(0), 5, words, distances.data());
    for (int i = 0; i < 5; ++i) EXPECT_EQ(distances[i], distance(some, i, others, i));
  }
}

TEST_P(BitMatcherTest, WeightedSumsEqualBruteForce) {
  const std::vector<float> weights = {1, -2, 3};
  std::vector<float> x(200), sums(64);
  for (int i = 0; i < 200; ++i) x[i] = static_cast<float>(i * i % 17);
  for (const int stride : {1, 50}) {
    GetParam()->weighted_sum(x.data() + 1, stride, weights.data(), 3, 21, sums.data());
    for (int i = 0; i < 21; ++i) {
      EXPECT_EQ(sums[i], x[1 + i] - 2 * x[1 + i + stride] + 3 * x[1 + i + 2 * stride]);
    }
  }
}

/// As BlockMatcher says, cell by cell.
double brute_force_alike(const BitGrid& a, const BitGrid& b, int down, int right, int radius) {
  const auto inside = [](const BitGrid& grid, int y, int x) {
    return y >= 0 && y < grid.height && x >= 0 && x < grid.width;
  };
  const auto best_of = [&](const BitGrid& from, const BitGrid& to, int down, int right) {
    double squares = 0;
    for (int cell = 0; cell < from.cells(); ++cell) {
      const int y = cell / from.width, x = cell % from.width;
      double best = 0;
      for (int dy = down - radius; dy <= down + radius; ++dy)
        for (int dx = right - radius; dx <= right + radius; ++dx) {
          if (!inside(to, y + dy, x + dx)) continue;
          double sum = 0, weights = 0;
          for (int i = -radius; i <= radius; ++i)
            for (int j = -radius; j <= radius; ++j) {
              if (!inside(from, y + i, x + j)) continue;
              const double weight = (radius + 1 - std::abs(i)) * (radius + 1 - std::abs(j));
              weights += weight;
              if (!inside(to, y + i + dy, x + j + dx)) continue;
              const int p = (y + i) * from.width + x + j, q = (y + i + dy) * to.width + x + j + dx;
              if (from.flat(p) || to.flat(q)) continue;
              sum += weight * (1 - distance(from, p, to, q) / (16.0 * from.words));
            }
          best = std::max(best, sum / weights);
        }
      squares += best * best;
    }
    return squares;
  };
  return (best_of(a, b, down, right) + best_of(b, a, -down, -right)) / (a.cells() + b.cells());
}

TEST_P(BitMatcherTest, BlocksEqualBruteForce) {
  PackedLocalFeatures a = random_bits(5, 8, 2, 0xffffffffu, 1);
  const PackedLocalFeatures b = random_bits(6, 7, 2, 0xffffffffu, 2);
  std::copy_n(b.bytes.begin() + 80, 120, a.bytes.begin() + 40);  // something to find
  std::fill_n(a.bytes.begin(), 8, std::uint8_t{0});
  const BitGrid one(a), other(b);
  BlockMatcher blocks(*GetParam());
  for (const auto& [down, right, radius] :
       {std::array{0, 0, 1}, std::array{1, -2, 2}, std::array{-4, 5, 3}, std::array{20, 0, 1}}) {
    EXPECT_NEAR(blocks.alike(one, other, down, right, radius),
                brute_force_alike(one, other, down, right, radius),
                1e-5);
    EXPECT_NEAR(blocks.alike(one, other, down, right, radius),
                blocks.alike(other, one, -down, -right, radius),
                1e-6);
  }
  EXPECT_NEAR(blocks.alike(other, other, 0, 0, 2), 1, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Cpus,
                         BitMatcherTest,
                         testing::ValuesIn(all_kernels()),
                         [](const auto& info) { return info.param->name; });

TEST(BitMatcher, FlatCellsAreLikeNone) {
  PackedLocalFeatures a = random_bits(1, 4, 2, 0xffffffffu, 1);
  std::fill_n(a.bytes.begin() + 8, 8, std::uint8_t{0});
  const BitGrid grid(a);
  BitMatcher matcher(grid);
  const auto matches = matcher.match(grid);
  ASSERT_EQ(matches.size(), 3u);
  EXPECT_EQ(matches[1].query, 2);
}

TEST(BitMatcher, OfOneLengthOnly) {
  const PackedLocalFeatures a = random_bits(2, 2, 2, 0xffffffffu, 1),
                            b = random_bits(2, 2, 3, 7, 1);
  BitMatcher matcher{BitGrid(a)};
  EXPECT_THROW(matcher.match(BitGrid(b)), std::invalid_argument);
  EXPECT_THROW(BitGrid({std::vector<std::uint8_t>(4u * 70000), 32, 1, 70000}),
               std::invalid_argument);
}

TEST(Election, EqualsBruteForce) {
  std::mt19937 engine(5);
  std::uniform_int_distribution<int> cells(-9, 9);
  std::uniform_real_distribution<float> weights(0.1f, 1.0f);
  Election election;
  for (const double reach : {1.0, 2.5, 6.0}) {
    std::vector<Vote> votes(40);
    for (Vote& vote : votes) vote = {cells(engine), 2 * cells(engine), weights(engine)};
    float largest = 0;
    for (int down = -9; down <= 9; ++down)
      for (int right = -18; right <= 18; ++right) {
        float sum = 0;
        for (const Vote& vote : votes)
          sum += vote.weight * fall(vote.down - down, reach) * fall(vote.right - right, reach);
        largest = std::max(largest, sum);
      }
    const Peak peak = election.winner(votes, reach);
    EXPECT_NEAR(peak.sum, largest, 1e-4);
    float there = 0;
    for (const Vote& vote : votes)
      there +=
          vote.weight * fall(vote.down - peak.down, reach) * fall(vote.right - peak.right, reach);
    EXPECT_NEAR(there, largest, 1e-4);
  }
  EXPECT_EQ(election.winner({}, 2).sum, 0);
}

}  // namespace
}  // namespace ria
