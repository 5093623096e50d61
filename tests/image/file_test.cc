// SPDX-License-Identifier: MIT
// Pictures as files: loaded, saved, listed.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>

#include "ria/image.h"
#include "support/error_message.h"
#include "support/sample_images.h"
#include "support/spill.h"
#include "support/temporary_folder.h"
#include "util/files.h"

namespace ria {
namespace {

namespace fs = std::filesystem;

/// A folder of its own for each test.
class ImageFile : public ::testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& bytes) const {
    return spill(folder_ / name, bytes);
  }
  fs::path write_hex(const std::string& name, const std::string& hex) const {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
      bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
    return write(name, bytes);
  }

  /// A file that cannot be read gives one line with its name and prints nothing.
  static void expect_refused(const fs::path& file, const std::string& reason) {
    SCOPED_TRACE(file.filename());
    ::testing::internal::CaptureStderr();
    EXPECT_THROW(load_image(file), std::runtime_error);
    const std::string message = message_of([&] { load_image(file); });
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
    EXPECT_TRUE(contains(message, file.string())) << message;
    EXPECT_TRUE(contains(message, reason)) << message;
    EXPECT_FALSE(contains(message, "\n")) << message;
  }

  /// Every pixel within `tolerance` levels of (200, 100, 50).
  static void expect_orange(const fs::path& file, int tolerance) {
    SCOPED_TRACE(file.filename());
    const Image image = load_image(file);
    constexpr int kColour[] = {200, 100, 50};
    for (std::size_t i = 0; i < image.rgb.size(); ++i) {
      ASSERT_NEAR(image.rgb[i], kColour[i % 3], tolerance);
    }
  }

  TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

TEST_F(ImageFile, PngKeepsEveryPixel) {
  const Image image = noise(23, 31);
  save_image(folder_ / "a.PNG", image);
  const Image loaded = load_image(folder_ / "a.PNG");
  EXPECT_EQ(loaded.height, 23);
  EXPECT_EQ(loaded.width, 31);
  EXPECT_EQ(loaded.rgb, image.rgb);
}

TEST_F(ImageFile, JpegKeepsColours) {
  save_image(folder_ / "a.jpg", constant(16, 24, {200, 100, 50}));
  expect_orange(folder_ / "a.jpg", 3);
}

TEST_F(ImageFile, EncodeJpegShrinksOnly) {
  const Image image = constant(30, 60, {200, 100, 50});
  const auto size_after = [&](int longest_side) {
    const std::vector<std::uint8_t> bytes = encode_jpeg(image, longest_side);
    const Image loaded = load_image(write("a.jpg", {bytes.begin(), bytes.end()}));
    return std::array<int, 2>{loaded.height, loaded.width};
  };
  EXPECT_EQ(size_after(0), (std::array<int, 2>{30, 60}));
  EXPECT_EQ(size_after(100), (std::array<int, 2>{30, 60}));
  EXPECT_EQ(size_after(20), (std::array<int, 2>{10, 20}));
}

TEST_F(ImageFile, UnknownEndingIsNotWritten) {
  EXPECT_THROW(save_image(folder_ / "a.gif", noise(2, 2)), std::runtime_error);
  EXPECT_THROW(save_image(folder_ / "a.png", Image{}), std::invalid_argument);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(ImageFile, RefusesWhatIsNoPicture) {
  expect_refused(folder_ / "missing.jpg", "No such file");
  expect_refused(folder_, "folder");
  expect_refused(write("empty.jpg", ""), "empty");
  expect_refused(write("text.jpg", "hello, this is a text\n"), "is no picture ria can read");
  expect_refused(write("a.gif", "GIF89a\x01"), "is no picture ria can read");
  expect_refused(write("text.bmp", "BM is how this text begins"), "is no picture ria can read");
  expect_refused(write("text.ppm", "P6 is how this text begins"), "is no picture ria can read");
  expect_refused(write("huge.ppm", "P6\n60000 60000\n255\n"), "larger than 2^30 pixels");
  expect_refused(write("nothing.jpg", "\xFF\xD8\xFF\xD9"), "damaged");
}

TEST_F(ImageFile, RefusesWhatIsCutShort) {
  save_image(folder_ / "whole.jpg", noise(40, 50));
  save_image(folder_ / "whole.png", noise(40, 50));
  for (const char* name : {"whole.jpg", "whole.png"}) {
    const std::string whole = read_text(folder_ / name);
    for (int percent = 2; percent < 100; ++percent) {
      SCOPED_TRACE(percent);
      const std::string part = whole.substr(0, whole.size() * percent / 100);
      expect_refused(write("cut_" + std::string(name), part), "cut short");
    }
    expect_refused(write("last_" + std::string(name), whole.substr(0, whole.size() - 1)),
                   "cut short");
    const fs::path longer = write("longer_" + std::string(name), whole + "and more");
    EXPECT_EQ(load_image(longer).rgb, load_image(folder_ / name).rgb);
  }
  expect_refused(write("a.ppm", "P6\n4 4\n255\nabcdef"), "cut short");
  expect_refused(write("a.tif", std::string("II*\0\x08\0\0\0", 8)), "cut short");
}

TEST_F(ImageFile, ThumbnailsEndIsNotThePicturesEnd) {
  save_image(folder_ / "a.jpg", noise(40, 50));
  const std::string whole = read_text(folder_ / "a.jpg");
  const std::string app1 = std::string("\xFF\xE1\x00\x06\xFF\xD9\xFF\xD9", 8);
  const std::string with_thumbnail = whole.substr(0, 2) + app1 + whole.substr(2);
  EXPECT_EQ(load_image(write("b.jpg", with_thumbnail)).rgb, load_image(folder_ / "a.jpg").rgb);
  expect_refused(write("c.jpg", with_thumbnail.substr(0, with_thumbnail.size() / 2)), "cut short");
}

TEST_F(ImageFile, RefusesDamagedJpeg) {
  save_image(folder_ / "a.jpg", noise(40, 50));
  const std::string whole = read_text(folder_ / "a.jpg");
  const std::string end = "\xFF\xD9";
  const std::size_t half = whole.size() / 2;
  expect_refused(write("half.jpg", whole.substr(0, half) + end),
                 "is a damaged JPEG: Corrupt JPEG data: premature end of data segment");
  for (const int size : {64, 300, 1000}) {
    std::string zeroed = whole;
    zeroed.replace(half, size, size, '\0');
    expect_refused(write("zeroed.jpg", zeroed), "is a damaged JPEG: Corrupt JPEG data");
  }
  // What the decoder has not used may be a camera's few stray bytes, or lost data.
  const std::string scan = whole.substr(0, whole.size() - end.size());
  ::testing::internal::CaptureStderr();
  const Image stray = load_image(write("stray.jpg", scan + "12345678" + end));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(stray.rgb, load_image(folder_ / "a.jpg").rgb);
  expect_refused(write("lost.jpg", scan + std::string(100, '5') + end), "is a damaged JPEG");
}

TEST_F(ImageFile, RefusesJpegByItsHeader) {
  save_image(folder_ / "a.jpg", noise(40, 50));
  const std::string whole = read_text(folder_ / "a.jpg");
  const std::size_t frame = whole.find("\xFF\xC0");  // marker, length, bits, height, width
  ASSERT_NE(frame, std::string::npos);
  const auto changed = [&](std::size_t at, const std::string& bytes) {
    std::string copy = whole;
    copy.replace(frame + at, bytes.size(), bytes);
    return write("changed.jpg", copy);
  };
  expect_refused(changed(4, "\x0C"), "this kind of JPEG is not supported: Unsupported");
  expect_refused(changed(1, "\xC9"), "this kind of JPEG is not supported: Sorry, arithmetic");
  expect_refused(changed(1, "\xC3"), "this kind of JPEG is not supported: Unsupported");
  expect_refused(changed(5, "\xF0\x01\xF0\x02"), "61441x61442 pixels is larger than 2^30");
  expect_refused(changed(5, "\x70\x01\x70\x01"), "cut short");  // before 2.5 GB are asked for
  expect_refused(changed(5, std::string(4, '\0')), "is a damaged JPEG: Empty JPEG image");
}

TEST_F(ImageFile, ReadsOrRefusesJpegWithRandomBytes) {
  const std::vector<std::uint8_t> encoded = encode_jpeg(noise(24, 33));
  const std::string whole(encoded.begin(), encoded.end());
  const std::size_t size_field = whole.find("\xFF\xC0") + 5;
  std::uint32_t state = 1;
  const auto random = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
  int refused = 0;
  ::testing::internal::CaptureStderr();
  for (int copy = 0; copy < 200; ++copy) {
    std::string bytes = whole;
    for (int i = 0; i <= copy % 8; ++i) {
      const std::size_t at = random() % bytes.size();
      const bool size = at >= size_field && at < size_field + 4;
      if (!size) bytes[at] = static_cast<char>(random());
    }
    try {
      const Image image = load_image(write("a.jpg", bytes));
      EXPECT_EQ(image.height, 24);
      EXPECT_EQ(image.width, 33);
      EXPECT_EQ(image.rgb.size(), 24u * 33u * 3u);
    } catch (const std::runtime_error& error) {
      EXPECT_FALSE(contains(error.what(), "\n")) << error.what();
      ++refused;
    }
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_GT(refused, 100);
}

TEST_F(ImageFile, RefusesDamagedPng) {
  save_image(folder_ / "a.png", noise(40, 50));
  std::string bytes = read_text(folder_ / "a.png");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  expect_refused(write("b.png", bytes), "damaged");
}

TEST_F(ImageFile, ReadsEveryKindOfColour) {
  expect_orange(write("deep.ppm", "P6\n1 1\n65535\n\xC8\xC8\x64\x64\x32\x32"), 1);
  // Made with ImageMagick: CMYK as Adobe writes it, 16 bits a channel, half transparent, palette.
  expect_orange(
      write_hex("cmyk.jpg",
                "ffd8ffee000e41646f626500640000000002ffdb00430003020203020203030303040303040508"
                "05050404050a070706080c0a0c0c0b0a0b0b0d0e12100d0e110e0b0b1016101113141515150c0f"
                "171816141812141514ffdb00430103040405040509050509140d0b0d1414141414141414141414"
                "141414141414141414141414141414141414141414141414141414141414141414141414141414"
                "ffc00014080008000804011100021101031101041100ffc4001500010100000000000000000000"
                "000000000708ffc40014100100000000000000000000000000000000ffc4001401010000000000"
                "0000000000000000000008ffc40014110100000000000000000000000000000000ffda000e0401"
                "00021103110400003f002c23447580ffd9"),
      2);
  const std::string png = "89504e470d0a1a0a0000000d49484452";
  const std::string end = "0000000049454e44ae426082";
  expect_orange(
      write_hex("deep.png",
                png + "00000002000000021002000000ad44463000000019" +
                    "4944415408d7633c712225c5c8888181818181818901090000402c02c00e185d82" + end),
      0);
  expect_orange(write_hex("alpha.png",
                          png + "0000000200000002080600000072b60d2400000014" +
                              "4944415408d7633c9162d4c0c0c0c0c0c40005001dac01e2f5435894" + end),
                0);
  expect_orange(write_hex("palette.png",
                          png + "0000000200000002010300000048789f6700000003" +
                              "504c5445c86432f18005010000000c4944415408d76360606000000004000127" +
                              "34270a" + end),
                0);
  const Image grey = load_image(write("grey.pgm", "P5\n2 1\n255\n\x10\xF0"));
  EXPECT_EQ(grey.rgb, (std::vector<std::uint8_t>{16, 16, 16, 240, 240, 240}));
}

/// One orange pixel with alpha 50 % that its colours are not multiplied by.
std::string tiff_with_alpha(bool little) {
  std::string bytes = little ? "II" : "MM";
  const auto put = [&](std::uint32_t value, int size) {
    for (int i = 0; i < size; ++i) {
      bytes.push_back(static_cast<char>(value >> 8 * (little ? i : size - 1 - i)));
    }
  };
  constexpr std::uint32_t kPixel = 8, kBits = 12, kDirectory = 20;
  put(42, 2);
  put(kDirectory, 4);
  bytes += "\xC8\x64\x32\x80";
  for (int channel = 0; channel < 4; ++channel) put(8, 2);
  // Tag and value: size, compression, colours, place of the pixel, channels, the fourth is alpha.
  constexpr std::uint32_t kFields[][2] = {
      {256, 1}, {257, 1}, {259, 1}, {262, 2}, {277, 4}, {278, 1}, {338, 2}};
  put(std::size(kFields) + 3, 2);
  for (const auto& [tag, value] : kFields) {
    if (tag == 259) put(258, 2), put(3, 2), put(4, 4), put(kBits, 4);
    if (tag == 277) put(273, 2), put(4, 2), put(1, 4), put(kPixel, 4);
    if (tag == 338) put(279, 2), put(4, 2), put(1, 4), put(4, 4);
    put(tag, 2), put(3, 2), put(1, 4), put(value, 2), put(0, 2);
  }
  put(0, 4);
  return bytes;
}

TEST_F(ImageFile, TransparentTiffKeepsColours) {
  expect_orange(write("little.tif", tiff_with_alpha(true)), 0);
  expect_orange(write("big.tif", tiff_with_alpha(false)), 0);
}

TEST_F(ImageFile, ListsPicturesAsSortedStrings) {
  EXPECT_THROW(list_pictures(folder_), std::runtime_error);
  EXPECT_THROW(list_pictures(folder_ / "missing"), std::runtime_error);
  fs::create_directories(folder_ / "a");
  write("a/2.JPG", "");
  write("a.png", "");
  write("a-1.webp", "");
  write("notes.txt", "");
  fs::create_directory_symlink(folder_, folder_ / "a" / "loop");
  const std::vector<fs::path> expected = {
      folder_ / "a-1.webp", folder_ / "a.png", folder_ / "a" / "2.JPG"};
  EXPECT_EQ(list_pictures(folder_), expected);
  EXPECT_EQ(list_pictures(folder_ / "notes.txt"), std::vector<fs::path>{folder_ / "notes.txt"});
}

}  // namespace
}  // namespace ria
