// SPDX-License-Identifier: MIT
// Resizing and cropping against torchvision and Pillow. What is checked comes from case.json: names
// and `how` texts say the kind and the sizes, so another case of the same form runs unchanged.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "golden/golden_case.h"
#include "ria/image.h"
#include "tensor/npy.h"

namespace ria {
namespace {

using nlohmann::json;
using Shape = std::vector<std::int64_t>;

std::filesystem::path folder() { return golden_dir() / "resize_crop"; }

/// "1e-5 absolute ..."
float tolerance() {
  static const float stated =
      std::stof(load_case("resize_crop").at("tolerance").at("float tensors").get<std::string>());
  return stated;
}

/// case.json's "input" names the picture, then the grey one.
Image input_image(int number) {
  const std::string text = load_case("resize_crop").at("input");
  const std::regex file("\\S+\\.png");
  std::sregex_iterator match(text.begin(), text.end(), file);
  for (int i = 0; i < number && match != std::sregex_iterator(); ++i) ++match;
  if (match == std::sregex_iterator()) throw std::runtime_error("no such picture in: " + text);
  return load_image(folder() / match->str());
}

const Image& picture() {
  static const Image image = input_image(0);
  return image;
}
Pixels normalised() { return to_pixels(picture(), Normalization::kImagenet); }

/// The larger of two differences; a NaN is the largest and stays, so that it fails.
float larger(float worst, float difference) {
  return std::isnan(worst) || difference <= worst ? worst : difference;
}

void expect_planes(const Pixels& pixels, const Tensor& expected) {
  ASSERT_EQ(expected.dtype, DType::F32);
  ASSERT_EQ(expected.shape, (Shape{3, pixels.height, pixels.width}));
  const std::vector<float> values = expected.floats();
  ASSERT_EQ(values.size(), pixels.chw.size());
  float worst = 0.0f;
  for (std::size_t i = 0; i < values.size(); ++i) {
    worst = larger(worst, std::abs(values[i] - pixels.chw[i]));
  }
  EXPECT_LE(worst, tolerance());
}

void expect_bytes(const Image& image, const Tensor& expected) {
  ASSERT_EQ(expected.dtype, DType::U8);
  ASSERT_EQ(expected.shape, (Shape{image.height, image.width, 3}));
  ASSERT_EQ(expected.bytes.size(), image.rgb.size());
  int worst = 0;
  for (std::size_t i = 0; i < image.rgb.size(); ++i) {
    worst = std::max(worst, std::abs(expected.bytes[i] - image.rgb[i]));
  }
  EXPECT_EQ(worst, 0) << "largest difference in levels";
}

Resize tensor_kind(const std::string& filter, bool antialias) {
  if (filter == "bilinear") return antialias ? Resize::kTensorBilinearAa : Resize::kTensorBilinear;
  return antialias ? Resize::kTensorBicubicAa : Resize::kTensorBicubic;
}

Resize pil_kind(const std::string& filter) {
  if (filter == "bilinear") return Resize::kPilBilinear;
  return filter == "bicubic" ? Resize::kPilBicubic : Resize::kPilLanczos;
}

Preprocessing to_size(Resize kind, int height, int width) {
  Preprocessing options;
  options.resize = kind;
  options.height = height;
  options.width = width;
  return options;
}

std::optional<std::smatch> matched(const std::string& text, const std::string& pattern) {
  std::smatch match;
  if (!std::regex_search(text, match, std::regex(pattern))) return std::nullopt;
  return match;
}

/// The rows or columns kept by a list like "rows 0,3,6..": all of them without a list.
struct Kept {
  int first = 0;
  int step = 1;
};

Kept kept(const std::string& how, const std::string& axis) {
  const auto match = matched(how, axis + " (\\d+),(\\d+)");
  if (!match) return {};
  const int first = std::stoi((*match)[1]);
  return {first, std::stoi((*match)[2]) - first};
}

/// `how` may begin with "same": then its sizes are those of the entry before it.
void check_anyloc(const std::string& how, const std::string& sizes_from, const Tensor& expected) {
  const auto crop = matched(sizes_from, "CenterCrop\\((\\d+), ?(\\d+)\\)");
  const auto size = matched(sizes_from, "resize to \\((\\d+), ?(\\d+)\\)");
  ASSERT_TRUE(crop && size) << sizes_from;
  const auto number = [](const auto& match, int i) { return std::stoi((*match)[i]); };
  const Pixels resized =
      resize_pixels(normalised(), number(size, 1), number(size, 2), Resize::kTensorBilinear);
  const Pixels cropped = center_crop(resized, number(crop, 1), number(crop, 2));
  const auto channel = matched(how, "channel (\\d+)");
  const int first_channel = channel ? std::stoi((*channel)[1]) : 0;
  const int channels = channel ? 1 : 3;
  const Kept rows = kept(how, "rows");
  const Kept columns = kept(how, "cols");
  ASSERT_TRUE(rows.step > 0 && columns.step > 0) << how;
  const std::vector<float> values = expected.floats();
  std::size_t i = 0;
  float worst = 0.0f;
  for (int c = first_channel; c < first_channel + channels; ++c) {
    for (int y = rows.first; y < cropped.height; y += rows.step) {
      for (int x = columns.first; x < cropped.width; x += columns.step, ++i) {
        ASSERT_LT(i, values.size());
        worst = larger(worst, std::abs(values[i] - cropped.at(c, y, x)));
      }
    }
  }
  EXPECT_EQ(i, values.size());
  EXPECT_LE(worst, tolerance());
}

void check_gray(const Tensor& expected) {
  const Image gray = input_image(1);
  ASSERT_EQ(expected.shape.size(), 3u);
  const int height = static_cast<int>(expected.shape[0]);
  const int width = static_cast<int>(expected.shape[1]);
  ASSERT_LE(height, gray.height);
  ASSERT_LE(width, gray.width);
  Image corner{height, width, {}};
  for (int y = 0; y < height; ++y) {
    const auto row = gray.rgb.begin() + static_cast<std::ptrdiff_t>(y) * gray.width * 3;
    corner.rgb.insert(corner.rgb.end(), row, row + width * 3);
  }
  expect_bytes(corner, expected);
}

/// False if the name says nothing this test knows how to compute.
bool check_tensor(const std::string& name, const Tensor& expected) {
  if (const auto m = matched(name, "^tensor_(bilinear|bicubic)_(aa|noaa)_(\\d+)x(\\d+)$")) {
    const Resize kind = tensor_kind((*m)[1], (*m)[2] == "aa");
    const int height = std::stoi((*m)[3]);
    const int width = std::stoi((*m)[4]);
    expect_planes(resize_pixels(normalised(), height, width, kind), expected);
    expect_planes(preprocess(picture(), to_size(kind, height, width)), expected);
  } else if (const auto n = matched(name, "^tensor_nearest_(\\d+)x(\\d+)$")) {
    const int height = std::stoi((*n)[1]);
    const int width = std::stoi((*n)[2]);
    expect_planes(resize_pixels(normalised(), height, width, Resize::kTensorNearest), expected);
    expect_planes(preprocess(picture(), to_size(Resize::kTensorNearest, height, width)), expected);
  } else if (const auto s = matched(name, "^tensor_short(\\d+)_(aa|noaa)$")) {
    Preprocessing options;
    options.resize = tensor_kind("bilinear", (*s)[2] == "aa");
    options.shortest_side = std::stoi((*s)[1]);
    expect_planes(preprocess(picture(), options), expected);
  } else {
    return false;
  }
  return true;
}

bool check_pil(const std::string& name, const Tensor& expected) {
  const std::string filters = "^pil_(bilinear|bicubic|lanczos)";
  if (const auto m = matched(name, filters + "(_up)?_(\\d+)x(\\d+)_(u8|norm)$")) {
    const Resize kind = pil_kind((*m)[1]);
    const int height = std::stoi((*m)[3]);
    const int width = std::stoi((*m)[4]);
    if ((*m)[5] == "u8") {
      expect_bytes(resize_image(picture(), height, width, kind), expected);
    } else {
      expect_planes(preprocess(picture(), to_size(kind, height, width)), expected);
    }
  } else if (const auto s = matched(name, filters + "_short(\\d+)_u8$")) {
    Preprocessing options;
    options.resize = pil_kind((*s)[1]);
    options.shortest_side = std::stoi((*s)[2]);
    const Image& image = picture();
    const auto [height, width] = resized_size(image.height, image.width, options);
    expect_bytes(resize_image(image, height, width, options.resize), expected);
  } else {
    return false;
  }
  return true;
}

class ResizeCropGolden : public GoldenCaseTest {
 protected:
  ResizeCropGolden() : GoldenCaseTest("resize_crop") {}

  /// A list of case.json; empty, and its check left out, if there is none.
  json list(const std::string& key) {
    if (!golden().info().contains(key)) leave_out(key);
    return golden().info().value(key, json::array());
  }
};

TEST_F(ResizeCropGolden, Files) {
  // In the file's order: "same" refers to the last entry before it that states its sizes in full.
  std::ifstream in(golden().folder() / "case.json");
  const auto entries = nlohmann::ordered_json::parse(in).at("files");
  ASSERT_FALSE(entries.empty());
  std::string anyloc_how;
  for (const auto& [name, entry] : entries.items()) {
    SCOPED_TRACE(name);
    const std::string how = entry.at("how");
    if (name.starts_with("anyloc_") && !how.starts_with("same")) anyloc_how = how;
    const std::filesystem::path file = golden().folder() / (name + ".npy");
    if (!std::filesystem::exists(file)) {
      leave_out(file.filename().string());
      continue;
    }
    const Tensor expected = read_npy(file);
    EXPECT_EQ(expected.shape, entry.at("shape").get<Shape>());
    if (name.starts_with("anyloc_")) {
      check_anyloc(how, anyloc_how, expected);
    } else if (name == "gray_as_rgb_u8") {
      check_gray(expected);
    } else {
      EXPECT_TRUE(check_tensor(name, expected) || check_pil(name, expected))
          << "no rule for this entry";
    }
  }
}

/// A picture whose every value tells its row, from 1 (0 is the padding).
Pixels numbered_rows(int height) {
  Pixels pixels{height, 1, {}};
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < height; ++y) pixels.chw.push_back(static_cast<float>(y + 1));
  }
  return pixels;
}

TEST_F(ResizeCropGolden, CropOffsets) {
  for (const json& entry : list("center_crop_offsets_[H,h,top]")) {
    SCOPED_TRACE(entry.dump());
    const Pixels cropped = center_crop(numbered_rows(entry[0]), entry[1], 1);
    EXPECT_EQ(cropped.at(0, 0, 0), entry[2].get<int>() + 1);
    EXPECT_EQ(cropped.height, entry[1].get<int>());
  }
}

TEST_F(ResizeCropGolden, CropPadding) {
  for (const json& entry : list("center_crop_padding_if_smaller")) {
    SCOPED_TRACE(entry.dump());
    const Pixels cropped = center_crop(numbered_rows(entry.at("in")), entry.at("crop"), 1);
    std::vector<int> filled;
    for (int y = 0; y < cropped.height; ++y) {
      if (cropped.at(1, y, 0) != 0.0f) filled.push_back(y);
    }
    EXPECT_EQ(filled, entry.at("ones_rows").get<std::vector<int>>());
  }
}

}  // namespace
}  // namespace ria
