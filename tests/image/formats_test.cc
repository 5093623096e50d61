// SPDX-License-Identifier: MIT
// One small picture in every encoding: the seeds of the fuzzer, made with ImageMagick, Pillow and
// by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "ria/image.h"
#include "support/error_message.h"
#include "util/files.h"

namespace ria {
namespace {

namespace fs = std::filesystem;

const fs::path kSeeds = RIA_SOURCE_DIR "/tests/fuzz/seeds/image";

/// 3 rows of 5 pixels in these four colours.
std::vector<std::uint8_t> painted(const std::array<std::array<std::uint8_t, 3>, 4>& colours) {
  std::vector<std::uint8_t> rgb;
  for (const int colour : {0, 1, 2, 3, 2, 2, 2, 2, 2, 2, 3, 1, 0, 0, 1}) {
    rgb.insert(rgb.end(), colours[colour].begin(), colours[colour].end());
  }
  return rgb;
}

void expect_alike(const std::string& prefix, int at_least, const std::vector<std::uint8_t>& rgb) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(kSeeds)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(prefix)) continue;
    const Image image = load_image(entry.path());
    EXPECT_EQ(image.height, 3) << name;
    EXPECT_EQ(image.width, 5) << name;
    EXPECT_EQ(image.rgb, rgb) << name;
    ++count;
  }
  EXPECT_GE(count, at_least);
}

TEST(ImageFormats, ColourIsTheSameInEveryEncoding) {
  expect_alike(
      "colour_", 34, painted({{{0, 0, 0}, {255, 255, 255}, {200, 100, 50}, {16, 32, 64}}}));
}

TEST(ImageFormats, GreyIsTheSameInEveryEncoding) {
  expect_alike("grey_", 12, painted({{{0, 0, 0}, {255, 255, 255}, {170, 170, 170}, {85, 85, 85}}}));
}

TEST(ImageFormats, BlackAndWhiteIsTheSameInEveryEncoding) {
  expect_alike("bits_", 6, painted({{{0, 0, 0}, {255, 255, 255}, {0, 0, 0}, {255, 255, 255}}}));
}

Image decoded(const std::string& bytes) {
  return decode_image({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()},
                      "picture");
}

std::string refusal(const std::string& bytes) {
  return message_of([&] { decoded(bytes); });
}

TEST(ImageFormats, APartOfAFileIsRefusedOrHasEveryPixel) {
  for (const auto& entry : fs::directory_iterator(kSeeds)) {
    const std::string name = entry.path().filename();
    const std::string whole = read_text(entry.path());
    const Image image = load_image(entry.path());
    // Of the last number the last digit may be gone without a trace.
    if (name.find("digits") != name.npos) continue;
    int read = 0;
    for (std::size_t size = 0; size < whole.size(); ++size) {
      SCOPED_TRACE(name + " " + std::to_string(size));
      try {
        EXPECT_EQ(decoded(whole.substr(0, size)).rgb, image.rgb);
        ++read;
      } catch (const std::runtime_error& error) {
        const std::string said = error.what();
        EXPECT_TRUE(said.starts_with("cannot read picture: ")) << said;
        EXPECT_EQ(said.find('\n'), said.npos) << said;
      }
    }
    // Only the last page of a TIFF and the mark behind the last run are not needed.
    if (!name.ends_with(".tif") && !name.starts_with("colour_rle")) {
      EXPECT_EQ(read, 0) << name;
    }
  }
}

std::string little(std::uint32_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes.push_back(static_cast<char>(value >> 8 * i));
  return bytes;
}

/// A BMP of 8-bit runs.
std::string runs(int height, int width, const std::string& data) {
  const std::string palette("\0\0\0\0\x0A\x0B\x0C\0", 8);
  return "BM" + little(0, 4) + little(0, 4) + little(14 + 40 + 8, 4) + little(40, 4) +
         little(width, 4) + little(height, 4) + little(1, 2) + little(8, 2) + little(1, 4) +
         little(static_cast<std::uint32_t>(data.size()), 4) + little(0, 8) + little(2, 4) +
         little(0, 4) + palette + data;
}

TEST(ImageFormats, BmpRunsStayInside) {
  // Two pixels, a jump of one right and one up, one pixel; the end.
  const Image image = decoded(runs(2, 4, std::string("\2\1\0\2\1\1\1\1\0\1", 10)));
  std::string seen;
  for (std::size_t i = 0; i < image.rgb.size(); i += 3) seen += image.rgb[i] == 12 ? '1' : '0';
  EXPECT_EQ(seen, "00011100");
  EXPECT_TRUE(contains(refusal(runs(2, 4, std::string("\5\1\0\1", 4))), "a run leaves its row"));
  EXPECT_TRUE(
      contains(refusal(runs(1, 4, std::string("\0\2\xFF\0\1\1\0\1", 8))), "leaves its row"));
  EXPECT_TRUE(contains(refusal(runs(2, 4, std::string("\4\1\0\0\2\1", 6))), "cut short"));
  EXPECT_TRUE(contains(refusal(runs(2, 4, std::string("\0\4\1\1", 4))), "cut short"));
  EXPECT_TRUE(contains(refusal(runs(1 << 16, 1 << 15, "")), "larger than 2^30 pixels"));
  EXPECT_TRUE(contains(refusal(runs(0, 4, "")), "no pixels"));
}

TEST(ImageFormats, SizesAreCheckedBeforeMemoryIsTaken) {
  const auto changed = [](const std::string& name, std::size_t at, const std::string& bytes) {
    std::string whole = read_text(kSeeds / name);
    return whole.replace(at, bytes.size(), bytes);
  };
  // Height of a BMP and of uncompressed rows that are not there; width of a PNM.
  EXPECT_TRUE(contains(refusal(changed("colour_24.bmp", 22, little(100'000'000, 4))), "cut short"));
  EXPECT_TRUE(contains(refusal(changed("colour_24.bmp", 22, little(1u << 30, 4))), "2^30"));
  EXPECT_TRUE(contains(refusal("P5 30000 30000 255 x"), "cut short"));
  EXPECT_TRUE(contains(refusal("P2 30000 30000 255 1 2 3"), "cut short"));
  EXPECT_TRUE(contains(refusal("P5 4000000000 3 255 x"), "2^30"));
  EXPECT_TRUE(contains(refusal("P5 99999999999999999999 3 255 x"), "2^30"));
  EXPECT_TRUE(contains(refusal("P5 0 3 255 x"), "0"));
  EXPECT_TRUE(contains(refusal("P5 1 1 70000 xx"), "no picture"));
}

}  // namespace
}  // namespace ria
