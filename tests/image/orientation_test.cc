// SPDX-License-Identifier: MIT
// Pictures stand upright, whichever way the camera was held.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "ria/image.h"
#include "support/oriented.h"
#include "support/sample_images.h"
#include "support/spill.h"
#include "support/temporary_folder.h"
#include "util/files.h"

namespace ria {
namespace {

Image decode(const std::string& bytes, bool ignore_orientation = false) {
  return decode_image({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()},
                      "picture",
                      {ignore_orientation});
}

std::string png_of(const Image& image) {
  const TemporaryFolder folder;
  save_image(folder / "a.png", image);
  return read_text(folder / "a.png");
}

std::string jpeg_of(const Image& image) {
  const auto bytes = encode_jpeg(image, 0, 100);
  return {bytes.begin(), bytes.end()};
}

std::string with_png_exif(const std::string& png, const std::string& exif_bytes, bool at_end) {
  const std::string body = "eXIf" + exif_bytes;
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(body.data()), body.size());
  const std::string chunk = number_bytes(static_cast<std::uint32_t>(exif_bytes.size()), 4, false) +
                            body + number_bytes(static_cast<std::uint32_t>(crc), 4, false);
  const std::size_t at = at_end ? png.size() - 12 : 8 + 25;  // before IEND or behind IHDR
  return png.substr(0, at) + chunk + png.substr(at);
}

std::string tiff_of(const Image& image, int orientation, bool little) {
  const auto size = static_cast<std::uint32_t>(image.rgb.size());
  const std::uint32_t bits = 8 + size, directory = bits + 6 + bits % 2;
  const auto number = [&](std::uint32_t value, int bytes) {
    return number_bytes(value, bytes, little);
  };
  std::string file = (little ? "II" : "MM") + number(42, 2) + number(directory, 4) +
                     std::string(image.rgb.begin(), image.rgb.end());
  for (int channel = 0; channel < 3; ++channel) file += number(8, 2);
  file.resize(directory, '\0');
  const auto entry = [&](std::uint32_t tag, std::uint32_t value) {
    file += tiff_entry(tag, 4, value, little);
  };
  file += number(10, 2);
  entry(256, image.width);
  entry(257, image.height);
  file += number(258, 2) + number(3, 2) + number(3, 4) + number(bits, 4);
  entry(259, 1);
  entry(262, 2);
  entry(273, 8);
  file += tiff_entry(274, 3, orientation, little);
  entry(277, 3);
  entry(278, image.height);
  entry(279, size);
  return file + number(0, 4);
}

TEST(Orientation, LosslessFilesAreSeenAsTheyWereTaken) {
  const Image seen = noise(5, 7);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    SCOPED_TRACE(orientation);
    const Image stored = stored_as(seen, orientation);
    for (const bool flag : {true, false}) {
      for (const std::string& file : {with_png_exif(png_of(stored), exif(orientation, flag), false),
                                      with_png_exif(png_of(stored), exif(orientation, flag), true),
                                      tiff_of(stored, orientation, flag)}) {
        const Image upright = decode(file);
        EXPECT_EQ(upright.height, 5);
        EXPECT_EQ(upright.width, 7);
        EXPECT_EQ(upright.rgb, seen.rgb);
        EXPECT_EQ(decode(file, true).rgb, stored.rgb);
        EXPECT_EQ(decode(file, true).height, stored.height);
      }
    }
  }
}

TEST(Orientation, WebpIsSeenAsItWasTaken) {
  const std::string file =
      read_text(RIA_SOURCE_DIR "/tests/fuzz/seeds/image/colour_lossless.webp");  // 5 x 3
  const Image stored = decode(file);
  const auto chunk = [](const std::string& name, const std::string& body) {
    return name + number_bytes(static_cast<std::uint32_t>(body.size()), 4, true) + body +
           std::string(body.size() % 2, '\0');
  };
  const std::string extended = std::string("\x08\0\0\0", 4) + number_bytes(4, 3, true) +
                               number_bytes(2, 3, true);  // has EXIF; width - 1, height - 1
  for (int orientation = 1; orientation <= 8; ++orientation) {
    SCOPED_TRACE(orientation);
    for (const std::string& prefix : {std::string(), std::string("Exif\0\0", 6)}) {
      const std::string body = "WEBP" + chunk("VP8X", extended) + file.substr(12) +
                               chunk("EXIF", prefix + exif(orientation, true));
      const Image upright = decode(chunk("RIFF", body));
      EXPECT_EQ(stored_as(upright, orientation).rgb, stored.rgb);
      EXPECT_EQ(decode(chunk("RIFF", body), true).rgb, stored.rgb);
    }
  }
}

TEST(Orientation, JpegIsSeenAsItWasTaken) {
  // Blocks of one colour each survive the compression, in whichever order they are stored.
  const Image colours = noise(2, 3);
  Image seen{32, 48, std::vector<std::uint8_t>(32 * 48 * 3)};
  for (int i = 0; i < 32 * 48; ++i) {
    const int block = i / 48 / 16 * 3 + i % 48 / 16;
    std::copy_n(&colours.rgb[block * 3], 3, &seen.rgb[i * 3]);
  }
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const std::string plain = jpeg_of(stored_as(seen, orientation));
    const Image upright = decode(with_exif(plain, exif(orientation, orientation % 2 == 0)));
    ASSERT_EQ(upright.height, 32);
    ASSERT_EQ(upright.width, 48);
    int worst = 0;
    for (std::size_t i = 0; i < seen.rgb.size(); ++i) {
      // At the rim of a block half the colour resolution mixes it with the next.
      const auto is_inner = [](std::size_t at) { return at % 16 >= 2 && at % 16 < 14; };
      if (!is_inner(i / 3 / 48) || !is_inner(i / 3 % 48)) continue;
      worst = std::max(worst, std::abs(upright.rgb[i] - seen.rgb[i]));
    }
    EXPECT_LE(worst, 3) << orientation;
    EXPECT_EQ(decode(with_exif(plain, exif(orientation, true)), true).rgb, decode(plain).rgb);
  }
}

TEST(Orientation, WhatCannotBeUnderstoodIsIgnored) {
  const std::string plain = jpeg_of(noise(4, 6));
  const Image stored = decode(plain);
  const auto is_ignored = [&](const std::string& exif_bytes) {
    const Image image = decode(with_exif(plain, exif_bytes));
    return image.height == 4 && image.rgb == stored.rgb;
  };
  EXPECT_FALSE(is_ignored(exif(6, true)));
  EXPECT_TRUE(is_ignored(exif(0, true)));
  EXPECT_TRUE(is_ignored(exif(9, true)));
  EXPECT_TRUE(is_ignored(exif(6, true, 4)));  // not the type the standard has
  const std::string whole = exif(6, true);
  const std::size_t needed = 10 + 2 * 12;  // with the second entry
  for (std::size_t size = 0; size < needed; ++size) {
    EXPECT_TRUE(is_ignored(whole.substr(0, size))) << size;
  }
  for (const char* offset : {"\xFF\xFF\xFF\xFF", "\xF0\xFF\xFF\x7F", "\x30\x00\x00\x00"}) {
    std::string lost = whole;
    lost.replace(4, 4, offset, 4);
    EXPECT_TRUE(is_ignored(lost));
  }
  std::string endless = whole;
  endless.replace(8, 2, "\xFF\xFF");  // entries
  EXPECT_FALSE(is_ignored(endless));  // the orientation is among those that are there
  // Behind the first scan nothing is EXIF.
  EXPECT_EQ(decode(plain + with_exif(plain, whole).substr(2)).rgb, stored.rgb);
}

}  // namespace
}  // namespace ria
