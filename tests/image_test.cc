// SPDX-License-Identifier: MIT
#include "ria/image.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <string>

namespace ria {
namespace {

namespace fs = std::filesystem;

constexpr Resize kPilKinds[] = {Resize::kPilBilinear, Resize::kPilBicubic, Resize::kPilLanczos};
constexpr Resize kTensorKinds[] = {Resize::kTensorBilinear,
                                   Resize::kTensorBilinearAa,
                                   Resize::kTensorBicubic,
                                   Resize::kTensorBicubicAa,
                                   Resize::kTensorNearest};

/// The same noise everywhere: a multiplicative congruential sequence.
Image noise(int height, int width) {
  Image image{
      height, width, std::vector<std::uint8_t>(static_cast<std::size_t>(height) * width * 3)};
  std::uint32_t state = 12345;
  for (std::uint8_t& value : image.rgb) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<std::uint8_t>(state >> 24);
  }
  return image;
}

Image constant(int height, int width, std::array<std::uint8_t, 3> colour) {
  Image image{height, width, {}};
  for (int i = 0; i < height * width; ++i) {
    image.rgb.insert(image.rgb.end(), colour.begin(), colour.end());
  }
  return image;
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A folder of its own for each test.
class ImageFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "ria_image_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  static std::string read(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
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

  fs::path folder_;
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
  expect_refused(write("huge.ppm", "P6\n60000 60000\n255\n"), "CV_IO_MAX_IMAGE_PIXELS");
  expect_refused(write("nothing.jpg", "\xFF\xD8\xFF\xD9"), "damaged");
}

TEST_F(ImageFile, RefusesWhatIsCutShort) {
  save_image(folder_ / "whole.jpg", noise(40, 50));
  save_image(folder_ / "whole.png", noise(40, 50));
  for (const char* name : {"whole.jpg", "whole.png"}) {
    const std::string whole = read(folder_ / name);
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
  const std::string whole = read(folder_ / "a.jpg");
  const std::string app1 = std::string("\xFF\xE1\x00\x06\xFF\xD9\xFF\xD9", 8);
  const std::string with_thumbnail = whole.substr(0, 2) + app1 + whole.substr(2);
  EXPECT_EQ(load_image(write("b.jpg", with_thumbnail)).rgb, load_image(folder_ / "a.jpg").rgb);
  expect_refused(write("c.jpg", with_thumbnail.substr(0, with_thumbnail.size() / 2)), "cut short");
}

TEST_F(ImageFile, RefusesDamagedJpeg) {
  save_image(folder_ / "a.jpg", noise(40, 50));
  const std::string whole = read(folder_ / "a.jpg");
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
  const std::string whole = read(folder_ / "a.jpg");
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
  std::string bytes = read(folder_ / "a.png");
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

TEST(ResizeLaws, SameSizeIsIdentity) {
  const Image image = noise(17, 23);
  const Pixels pixels = to_pixels(image, Normalization::kImagenet);
  for (const Resize kind : kPilKinds) EXPECT_EQ(resize_image(image, 17, 23, kind).rgb, image.rgb);
  for (const Resize kind : kTensorKinds) {
    EXPECT_EQ(resize_image(image, 17, 23, kind).rgb, image.rgb);
    EXPECT_EQ(resize_pixels(pixels, 17, 23, kind).chw, pixels.chw);
  }
}

TEST(ResizeLaws, ConstantStaysConstant) {
  const Image image = constant(19, 33, {7, 130, 255});
  const std::array<int, 2> sizes[] = {{5, 8}, {40, 70}, {19, 8}, {1, 1}, {19, 100}};
  for (const auto& [height, width] : sizes) {
    const Image expected = constant(height, width, {7, 130, 255});
    for (const Resize kind : kPilKinds) {
      EXPECT_EQ(resize_image(image, height, width, kind).rgb, expected.rgb);
    }
    for (const Resize kind : kTensorKinds) {
      EXPECT_EQ(resize_image(image, height, width, kind).rgb, expected.rgb);
    }
  }
}

TEST(ResizeLaws, TransposingCommutesWithFloats) {
  const Pixels pixels = to_pixels(noise(14, 9), Normalization::kRaw);
  const auto transposed = [](const Pixels& in) {
    Pixels out{in.width, in.height, {}};
    for (int c = 0; c < 3; ++c) {
      for (int x = 0; x < in.width; ++x) {
        for (int y = 0; y < in.height; ++y) out.chw.push_back(in.at(c, y, x));
      }
    }
    return out;
  };
  for (const Resize kind : kTensorKinds) {
    const Pixels a = transposed(resize_pixels(pixels, 6, 20, kind));
    const Pixels b = resize_pixels(transposed(pixels), 20, 6, kind);
    ASSERT_EQ(a.chw.size(), b.chw.size());
    for (std::size_t i = 0; i < a.chw.size(); ++i) EXPECT_NEAR(a.chw[i], b.chw[i], 1e-3f);
  }
}

TEST(ResizeLaws, RefusesNonsense) {
  const Image image = noise(4, 4);
  EXPECT_THROW(resize_image(image, 0, 4, Resize::kPilBilinear), std::invalid_argument);
  EXPECT_THROW(resize_image(Image{4, 4, {}}, 2, 2, Resize::kPilBilinear), std::invalid_argument);
  const Pixels pixels = to_pixels(image, Normalization::kRaw);
  EXPECT_THROW(resize_pixels(pixels, 2, 2, Resize::kPilBicubic), std::invalid_argument);
  EXPECT_THROW(center_crop(pixels, 0, 2), std::invalid_argument);
}

TEST(Normalize, MeansWhatItsNameSays) {
  const Image image{1, 1, {10, 128, 250}};
  const float red = (10.0f / 255.0f - 0.485f) / 0.229f;
  EXPECT_EQ(to_pixels(image, Normalization::kImagenet).chw[0], red);
  EXPECT_EQ(to_pixels(image, Normalization::kRaw).chw, (std::vector<float>{10, 128, 250}));
  EXPECT_EQ(to_pixels(image, Normalization::kCaffe).chw,
            (std::vector<float>{250.0f - 103.939f, 128.0f - 116.779f, 10.0f - 123.68f}));
}

TEST(CenterCrop, RoundsHalfToEvenAndPads) {
  const Pixels pixels = to_pixels(noise(9, 7), Normalization::kRaw);
  const Pixels cropped = center_crop(pixels, 6, 4);  // offsets 1.5 and 1.5: 2 and 2
  EXPECT_EQ(cropped.at(2, 0, 0), pixels.at(2, 2, 2));
  EXPECT_EQ(cropped.at(0, 5, 3), pixels.at(0, 7, 5));
  const Pixels mixed = center_crop(pixels, 4, 10);  // offset 2.5: 2; 1 zero left, 2 right
  EXPECT_EQ(mixed.at(1, 0, 0), 0.0f);
  EXPECT_EQ(mixed.at(1, 0, 1), pixels.at(1, 2, 0));
  EXPECT_EQ(mixed.at(1, 3, 7), pixels.at(1, 5, 6));
  EXPECT_EQ(mixed.at(1, 3, 8), 0.0f);
}

TEST(ResizedSize, FollowsTheOptions) {
  using Size = std::array<int, 2>;
  Preprocessing options;
  EXPECT_EQ(resized_size(50, 70, options), (Size{50, 70}));
  options.longest_side = 100;
  EXPECT_EQ(resized_size(50, 70, options), (Size{71, 100}));
  EXPECT_EQ(resized_size(1, 1000, options), (Size{1, 100}));
  options.min_side = 14;
  EXPECT_EQ(resized_size(1, 1000, options), (Size{14, 100}));
  options = {};
  options.shortest_side = 112;
  EXPECT_EQ(resized_size(150, 201, options), (Size{112, 150}));  // 150.08
  EXPECT_EQ(resized_size(200, 150, options), (Size{149, 112}));  // 149.33
  options = {};
  options.height = 30;
  options.width = 40;
  EXPECT_EQ(resized_size(150, 201, options), (Size{30, 40}));
}

TEST(Preprocess, CropsToTheMultiple) {
  Preprocessing options;
  options.longest_side = 100;
  options.multiple = 14;
  const Pixels pixels = preprocess(noise(50, 70), options);
  EXPECT_EQ(pixels.height, 70);
  EXPECT_EQ(pixels.width, 98);
  EXPECT_THROW(preprocess(noise(5, 100), options), std::invalid_argument);
}

TEST(Preprocess, ValidateNamesTheField) {
  const auto message = [](auto change) {
    Preprocessing options;
    change(options);
    return message_of([&] { options.validate(); });
  };
  const std::string half = message([](Preprocessing& o) { o.height = 224; });
  EXPECT_TRUE(contains(half, "height is 224") && contains(half, "width is 0")) << half;
  const std::string both = message([](Preprocessing& o) { o.longest_side = o.shortest_side = 9; });
  EXPECT_TRUE(contains(both, "longest_side is 9") && contains(both, "shortest_side")) << both;
  const std::string three =
      message([](Preprocessing& o) { o.height = o.width = o.shortest_side = 8; });
  EXPECT_TRUE(contains(three, "height is 8") && contains(three, "shortest_side is 8")) << three;
  EXPECT_TRUE(contains(message([](Preprocessing& o) { o.multiple = 0; }), "multiple is 0"));
  EXPECT_TRUE(contains(message([](Preprocessing& o) { o.min_side = -1; }), "min_side is -1"));
  EXPECT_EQ(message([](Preprocessing&) {}), "nothing was thrown");
}

/// Grey planes of a function of row and column.
Pixels painted(int height, int width, const std::function<float(int, int)>& value) {
  Pixels pixels{height, width, {}};
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) pixels.chw.push_back(value(y, x));
    }
  }
  return pixels;
}

/// Sums over everything but the orientation.
std::array<double, 8> by_orientation(const DenseSift& sift) {
  std::array<double, 8> sums{};
  for (std::size_t i = 0; i < sift.histograms.size(); ++i) sums[i % 8] += sift.histograms[i];
  return sums;
}

TEST(DenseSiftLaws, EdgeFillsItsOrientation) {
  // Where it gets brighter: right, up, left, down are bins 0, 2, 4, 6.
  const std::function<float(int, int)> edges[] = {
      [](int, int x) { return x < 16 ? 0.0f : 100.0f; },
      [](int y, int) { return y < 16 ? 100.0f : 0.0f; },
      [](int, int x) { return x < 16 ? 100.0f : 0.0f; },
      [](int y, int) { return y < 16 ? 0.0f : 100.0f; }};
  for (int edge = 0; edge < 4; ++edge) {
    const auto sums = by_orientation(dense_sift(painted(32, 32, edges[edge]), 4, 4.0f));
    const double total = std::accumulate(sums.begin(), sums.end(), 0.0);
    EXPECT_GT(sums[edge * 2], 0.999 * total) << edge;
    EXPECT_GT(total, 0.0);
  }
}

TEST(DenseSiftLaws, DiagonalIsBinOneAndBetweenIsShared) {
  const auto diagonal = by_orientation(
      dense_sift(painted(32, 32, [](int y, int x) { return float(x - y); }), 4, 4.0f));
  EXPECT_NEAR(diagonal[0] / diagonal[1], 0.0, 0.02);
  const float half = std::tan(std::acos(-1.0f) / 8.0f);  // 22.5 degrees
  const auto shared = by_orientation(
      dense_sift(painted(64, 64, [&](int y, int x) { return float(x) - half * y; }), 64, 4.0f));
  EXPECT_NEAR(shared[0] / shared[1], 1.0, 0.05);
}

TEST(DenseSiftLaws, EdgeIsInItsCell) {
  // One window of 4 cells of 8 pixels; the gradient is in columns 19 and 20, in the third cell.
  const DenseSift sift =
      dense_sift(painted(32, 32, [](int, int x) { return x < 20 ? 0.0f : 100.0f; }), 8, 8.0f);
  ASSERT_EQ(sift.grid_height * sift.grid_width, 1);
  std::array<double, 4> columns{};
  for (int i = 0; i < 128; ++i) columns[i / 8 % 4] += sift.histograms[i];
  EXPECT_EQ(std::max_element(columns.begin(), columns.end()) - columns.begin(), 2);
  EXPECT_EQ(columns[0], 0.0);
}

TEST(DenseSiftLaws, ShiftByStepShiftsTheGrid) {
  const Image image = noise(64, 80);
  const Pixels pixels = to_pixels(image, Normalization::kRaw);
  const Pixels moved =
      painted(64, 80, [&](int y, int x) { return pixels.at(0, (y + 5) % 64, (x + 5) % 80); });
  const Pixels still = painted(64, 80, [&](int y, int x) { return pixels.at(0, y, x); });
  const DenseSift a = dense_sift(still, 5, 4.0f);
  const DenseSift b = dense_sift(moved, 5, 4.0f);
  ASSERT_EQ(a.grid_height, (64 - 16) / 5 + 1);
  ASSERT_EQ(a.grid_width, (80 - 16) / 5 + 1);
  ASSERT_EQ(a.histograms.size(), static_cast<std::size_t>(a.grid_height) * a.grid_width * 128);
  for (int gy = 1; gy + 3 < a.grid_height; ++gy) {
    for (int gx = 1; gx + 3 < a.grid_width; ++gx) {
      const float* from = &a.histograms[((gy + 1) * a.grid_width + gx + 1) * 128];
      const float* to = &b.histograms[(gy * b.grid_width + gx) * 128];
      for (int i = 0; i < 128; ++i) ASSERT_NEAR(from[i], to[i], 1e-2f) << gy << " " << gx;
    }
  }
}

TEST(DenseSiftLaws, FlatIsZeroSmallIsOnePoint) {
  const DenseSift flat = dense_sift(painted(40, 40, [](int, int) { return 77.0f; }), 8, 4.0f);
  EXPECT_TRUE(std::all_of(
      flat.histograms.begin(), flat.histograms.end(), [](float v) { return v == 0.0f; }));
  for (const int size : {1, 2, 7, 15}) {
    const DenseSift small =
        dense_sift(painted(size, size, [](int y, int x) { return float(3 * x + y); }), 8, 4.0f);
    EXPECT_EQ(small.grid_height * small.grid_width, 1);
    ASSERT_EQ(small.histograms.size(), 128u);
    for (const float value : small.histograms) EXPECT_GE(value, 0.0f);
  }
  EXPECT_THROW(dense_sift(Pixels{}, 8, 4.0f), std::invalid_argument);
  const Pixels pixels = painted(8, 8, [](int, int) { return 0.0f; });
  EXPECT_THROW(dense_sift(pixels, 0, 4.0f), std::invalid_argument);
  EXPECT_THROW(dense_sift(pixels, 8, 0.0f), std::invalid_argument);
  EXPECT_THROW(dense_sift(pixels, 8, std::nanf("")), std::invalid_argument);
}

}  // namespace
}  // namespace ria
