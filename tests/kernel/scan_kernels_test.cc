// SPDX-License-Identifier: MIT
// The scans of every kind of CPU this one can run, against sums in double precision.
#include "kernel/scan_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "tensor/tensor.h"
#include "util/aligned.h"

namespace ria {
namespace {

constexpr int kValues = 192;  // whole lines of floats, halves and bytes

class ScanKernelsTest : public testing::TestWithParam<const ScanKernels*> {};

template <typename T>
AlignedBuffer<T> aligned(const std::vector<T>& values) {
  AlignedBuffer<T> buffer(values.size());
  std::memcpy(buffer.data(), values.data(), values.size() * sizeof(T));
  return buffer;
}

std::vector<float> normal(int count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> draw(0, 0.1f);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = draw(engine);
  return values;
}

template <typename T>
std::vector<T> integers(int count, int most, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<int> draw(-most, most);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(draw(engine));
  return values;
}

template <typename Row, typename Query>
std::vector<float> scan(void (*function)(const ScanTask&),
                        const std::vector<Row>& rows,
                        const std::vector<Query>& queries,
                        int first_row = 0) {
  const AlignedBuffer<Row> a = aligned(rows);
  const AlignedBuffer<Query> b = aligned(queries);
  const auto row_count = static_cast<int>(rows.size()) / kValues - first_row;
  const auto query_count = static_cast<int>(queries.size()) / kValues;
  std::vector<float> sums(static_cast<std::size_t>(row_count * query_count));
  function(
      {a.data() + first_row * kValues, row_count, b.data(), query_count, kValues, sums.data()});
  return sums;
}

template <typename Row, typename Query>
std::vector<double> exact(const std::vector<Row>& rows, const std::vector<Query>& queries) {
  std::vector<double> sums;
  for (std::size_t q = 0; q < queries.size(); q += kValues) {
    for (std::size_t r = 0; r < rows.size(); r += kValues) {
      double sum = 0;
      for (int i = 0; i < kValues; ++i) sum += static_cast<double>(rows[r + i]) * queries[q + i];
      sums.push_back(sum);
    }
  }
  return sums;
}

TEST_P(ScanKernelsTest, AnyNumberOfRowsAndQueries) {
  for (const int rows : {1, 3, 4, 8, 13, 64}) {
    for (const int queries : {1, 2, 4, 5, 9}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, " << queries << " queries");
      const std::vector<float> x = normal(rows * kValues, 1), y = normal(queries * kValues, 2);
      const std::vector<std::uint16_t> halves = to_halves(x);
      std::vector<float> rounded(x.size());
      from_halves(halves, rounded);
      const auto bytes = integers<std::int8_t>(rows * kValues, 127, 3);
      const auto words = integers<std::int16_t>(queries * kValues, 32767, 4);
      const auto near = [](const std::vector<float>& found, const std::vector<double>& expected) {
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 2e-6);
      };
      near(scan(GetParam()->floats, x, y), exact(x, y));
      near(scan(GetParam()->halves, halves, y), exact(rounded, y));
      const std::vector<double> sums = exact(bytes, words);
      EXPECT_EQ(scan(GetParam()->bytes, bytes, words),
                std::vector<float>(sums.begin(), sums.end()));
    }
  }
}

TEST_P(ScanKernelsTest, TheSameBitsWhateverStandsBeside) {
  const std::vector<float> x = normal(13 * kValues, 1), y = normal(7 * kValues, 2);
  const std::vector<std::uint16_t> halves = to_halves(x);
  const std::vector<float> all = scan(GetParam()->halves, halves, y);
  for (int q = 0; q < 7; ++q) {
    const std::vector<float> query(y.begin() + q * kValues, y.begin() + (q + 1) * kValues);
    for (const int first : {0, 1, 5, 12}) {
      const std::vector<float> some = scan(GetParam()->halves, halves, query, first);
      for (int r = first; r < 13; ++r) EXPECT_EQ(some[r - first], all[q * 13 + r]);
    }
  }
}

TEST_P(ScanKernelsTest, EveryHalf) {
  for (int bits = 0; bits < 0x7c00; bits += 7) {  // all of them but infinity and NaN
    for (const int sign : {0, 0x8000}) {
      std::vector<std::uint16_t> row(kValues, 0);
      std::vector<float> query(kValues, 0), value(1);
      row[bits % kValues] = static_cast<std::uint16_t>(bits | sign);
      query[bits % kValues] = 1;
      from_halves({&row[bits % kValues], 1}, value);
      EXPECT_EQ(scan(GetParam()->halves, row, query), value);
    }
  }
}

TEST_P(ScanKernelsTest, CodesFindTheirEntries) {
  for (const int pairs : {1, 2, 7, 64, 256}) {
    std::mt19937 engine(3);
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(pairs * kCodeGroup));
    std::vector<std::uint8_t> tables(static_cast<std::size_t>(pairs * 32), 127);
    for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(engine());
    if (pairs != 256) {  // there the largest sum there can be
      for (std::uint8_t& entry : tables) entry = static_cast<std::uint8_t>(engine() % 128);
    }
    std::vector<std::uint16_t> errors(kCodeGroup), found(kCodeGroup);
    for (std::uint16_t& error : errors) error = static_cast<std::uint16_t>(engine());
    const std::uint16_t factor = pairs == 256 ? 0 : 0x7abc;
    const int most = GetParam()->codes(
        {codes.data(), tables.data(), pairs, errors.data(), factor, found.data()});
    EXPECT_EQ(most, *std::ranges::max_element(found));
    for (int i = 0; i < kCodeGroup; ++i) {
      int sum = static_cast<int>(std::int64_t{errors[i]} * factor / 65536);
      for (int p = 0; p < pairs; ++p) {
        const std::uint8_t code = codes[p * kCodeGroup + i];
        sum += tables[p * 32 + code % 16] + tables[p * 32 + 16 + code / 16];
      }
      EXPECT_EQ(found[i], sum) << pairs << " pairs, place " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu,
                         ScanKernelsTest,
                         testing::ValuesIn(scan_kernels()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace ria
