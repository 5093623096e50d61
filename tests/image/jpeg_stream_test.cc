// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <random>

#include "ria/drive.h"
#include "ria/image.h"

namespace ria {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes jpeg(int side, std::uint8_t shade) {
  Image image{side, side, Bytes(static_cast<std::size_t>(side) * side * 3)};
  std::mt19937 random(shade);
  for (std::uint8_t& value : image.rgb) value = static_cast<std::uint8_t>(random() % 256);
  return encode_jpeg(image);
}

/// The stream in pieces of a few bytes, as a pipe may give them.
JpegStream stream_of(const Bytes& bytes, std::size_t piece, std::size_t largest = 1 << 20) {
  auto at = std::make_shared<std::size_t>(0);
  return JpegStream(
      [&bytes, at, piece](std::span<std::uint8_t> to) {
        const std::size_t count = std::min({piece, to.size(), bytes.size() - *at});
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(*at), count, to.begin());
        *at += count;
        return count;
      },
      largest);
}

std::vector<Bytes> all_of(JpegStream stream, int* damaged = nullptr) {
  std::vector<Bytes> pictures;
  while (auto picture = stream.next()) pictures.push_back(*picture);
  if (damaged != nullptr) *damaged = stream.damaged();
  return pictures;
}

TEST(JpegStream, GivesEveryPictureAsItWas) {
  const std::vector<Bytes> pictures = {jpeg(8, 1), jpeg(64, 2), jpeg(17, 3)};
  Bytes bytes;
  for (const Bytes& one : pictures) bytes.insert(bytes.end(), one.begin(), one.end());
  for (const std::size_t piece : {1, 3, 1000, 1 << 20}) {
    int damaged = -1;
    EXPECT_EQ(all_of(stream_of(bytes, piece), &damaged), pictures) << piece;
    EXPECT_EQ(damaged, 0);
  }
}

TEST(JpegStream, AThumbnailInsideDoesNotEndAPicture) {
  Bytes picture = jpeg(32, 1);
  const Bytes inner = jpeg(8, 2);
  const std::size_t length = inner.size() + 2;
  Bytes segment{
      0xff, 0xe1, static_cast<std::uint8_t>(length >> 8), static_cast<std::uint8_t>(length & 0xff)};
  segment.insert(segment.end(), inner.begin(), inner.end());
  picture.insert(picture.begin() + 2, segment.begin(), segment.end());
  EXPECT_EQ(all_of(stream_of(picture, 7)), std::vector<Bytes>{picture});
}

TEST(JpegStream, PassesOverWhatIsBroken) {
  const Bytes first = jpeg(16, 1), second = jpeg(16, 2), third = jpeg(16, 3);
  Bytes bytes = first;
  bytes.insert(bytes.end(), second.begin(), second.end() - 20);  // cut short
  bytes.insert(bytes.end(), third.begin(), third.end());
  int damaged = 0;
  EXPECT_EQ(all_of(stream_of(bytes, 100), &damaged), (std::vector<Bytes>{first, third}));
  EXPECT_EQ(damaged, 1);

  bytes = {'-', '-', 'x', 0xff, 0xd8, 0x00};
  bytes.insert(bytes.end(), first.begin(), first.end());
  bytes.push_back(0);
  EXPECT_EQ(all_of(stream_of(bytes, 2), &damaged), std::vector<Bytes>{first});
  EXPECT_EQ(damaged, 2);

  EXPECT_EQ(all_of(stream_of({}, 1), &damaged), std::vector<Bytes>{});
  EXPECT_EQ(damaged, 0);
}

TEST(JpegStream, HoldsNoMoreThanItWasTold) {
  const Bytes small = jpeg(8, 1), large = jpeg(200, 2);
  ASSERT_GT(large.size(), 3 * small.size());
  Bytes bytes = large;
  bytes.insert(bytes.end(), small.begin(), small.end());
  int damaged = 0;
  EXPECT_EQ(all_of(stream_of(bytes, 512, 2 * small.size()), &damaged), std::vector<Bytes>{small});
  EXPECT_EQ(damaged, 1);
}

TEST(JpegStream, RandomChangesNeverHang) {
  const Bytes good = jpeg(24, 1);
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    Bytes bytes;
    for (int i = 0; i < 4; ++i) bytes.insert(bytes.end(), good.begin(), good.end());
    for (int i = 0; i < 20; ++i) {
      bytes[random() % bytes.size()] = random() % 2 ? 0xff : static_cast<std::uint8_t>(random());
    }
    bytes.resize(random() % bytes.size());
    std::size_t given = 0;
    for (const Bytes& picture : all_of(stream_of(bytes, 1 + random() % 400))) {
      given += picture.size();
      EXPECT_EQ(picture[0], 0xff);
      EXPECT_EQ(picture.back(), 0xd9);
    }
    EXPECT_LE(given, bytes.size());
  }
}

}  // namespace
}  // namespace ria
