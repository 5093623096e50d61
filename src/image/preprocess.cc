// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "image/resize.h"

namespace ria {

namespace {

// ImageNet's statistics of the three channels, RGB, of values in 0..1.
constexpr std::array<float, 3> kMean = {0.485f, 0.456f, 0.406f};
constexpr std::array<float, 3> kDeviation = {0.229f, 0.224f, 0.225f};
// Blue, green, red means of Caffe's networks, of values in 0..255.
constexpr std::array<float, 3> kCaffeMean = {103.939f, 116.779f, 123.68f};

/// The float of each of the 256 values of a plane.
std::array<float, 256> value_table(int plane,
                                   Normalization normalization,
                                   float mean,
                                   float deviation) {
  std::array<float, 256> table{};
  for (int v = 0; v < 256; ++v) {
    const float value = static_cast<float>(v);
    switch (normalization) {
      case Normalization::kImagenet:
        table[v] = (value / 255.0f - kMean[plane]) / kDeviation[plane];
        break;
      case Normalization::kCaffe:
        table[v] = value - kCaffeMean[plane];
        break;
      case Normalization::kRaw:
        table[v] = value;
        break;
      case Normalization::kMinusMean:
        table[v] = value - mean;
        break;
      case Normalization::kStandard:
        table[v] = (value / 255.0f - mean) / deviation;
        break;
    }
  }
  return table;
}

/// Where the crop begins; negative where zeros go before the input. torchvision rounds a half to
/// the even neighbour when it cuts and downwards when it pads.
int crop_offset(int in, int crop) {
  if (crop > in) return -((crop - in) / 2);
  const int half = (in - crop) / 2;
  return (in - crop) % 2 == 0 ? half : half + half % 2;
}

void require(bool holds, const std::string& message) {
  if (!holds) throw std::invalid_argument("preprocessing: " + message);
}

int rounded_ratio(int side, int numerator, int denominator) {
  const std::int64_t twice = 2 * static_cast<std::int64_t>(side) * numerator + denominator;
  return static_cast<int>(twice / (2 * static_cast<std::int64_t>(denominator)));
}

/// As Python's round() has it: of two that are equally near the even one, but never 0.
int nearest_multiple(int side, int multiple) {
  int times = side / multiple;
  const int twice = 2 * (side % multiple);
  if (twice > multiple || (twice == multiple && times % 2 == 1)) ++times;
  return std::max(times, 1) * multiple;
}

}  // namespace

void Preprocessing::validate() const {
  const auto not_negative = [](const char* field, int value) {
    require(value >= 0, fmt::format("{} is {}, must be 0 (off) or more", field, value));
  };
  not_negative("height", height);
  not_negative("width", width);
  not_negative("longest_side", longest_side);
  not_negative("shortest_side", shortest_side);
  for (const float value : mean) {
    require(std::isfinite(value),
            fmt::format("mean holds {}, finite numbers were expected", value));
  }
  for (const float value : deviation) {
    require(value > 0 && std::isfinite(value),
            fmt::format("deviation holds {}, numbers above 0 were expected", value));
  }
  require(min_side >= 1, fmt::format("min_side is {}, must be at least 1", min_side));
  require(multiple >= 1, fmt::format("multiple is {}, must be at least 1", multiple));
  require((height > 0) == (width > 0),
          fmt::format("height is {} and width is {}: set both or neither", height, width));
  require(
      longest_side == 0 || shortest_side == 0,
      fmt::format(
          "longest_side is {} and shortest_side is {}: set only one", longest_side, shortest_side));
  const int side = std::max(longest_side, shortest_side);
  require(height == 0 || side == 0,
          fmt::format("height is {} and {} is {}: set only one",
                      height,
                      longest_side > 0 ? "longest_side" : "shortest_side",
                      side));
  const auto long_enough = [this](const char* field, int value, const char* bound, int least) {
    require(value == 0 || value >= least,
            fmt::format("{} is {}, less than {}, which is {}", field, value, bound, least));
  };
  long_enough("height", height, "min_side", min_side);
  long_enough("width", width, "min_side", min_side);
  long_enough("height", height, "multiple", multiple);
  long_enough("width", width, "multiple", multiple);
}

Pixels to_pixels(const ImageView& view,
                 Normalization normalization,
                 const std::array<float, 3>& mean,
                 const std::array<float, 3>& deviation) {
  view.validate();
  const std::size_t area = static_cast<std::size_t>(view.height) * view.width;
  const int step = channels_of(view.format);
  Pixels pixels{view.height, view.width, std::vector<float>(3 * area)};
  for (int plane = 0; plane < 3; ++plane) {
    const std::array<float, 256> table =
        value_table(plane, normalization, mean[plane], deviation[plane]);
    const int channel = normalization == Normalization::kCaffe ? 2 - plane : plane;
    const std::uint8_t* source = view.data + rgb_offsets(view.format)[channel];
    float* destination = pixels.chw.data() + plane * area;
    for (int y = 0; y < view.height; ++y, source += view.stride, destination += view.width) {
      for (int x = 0; x < view.width; ++x) destination[x] = table[source[x * step]];
    }
  }
  return pixels;
}

Pixels center_crop(const Pixels& pixels, int height, int width) {
  check_pixels(pixels);
  if (height < 1 || width < 1) {
    throw std::invalid_argument(
        fmt::format("cannot crop to {}x{} pixels: a side must be at least 1", height, width));
  }
  const int top = crop_offset(pixels.height, height);
  const int left = crop_offset(pixels.width, width);
  const int first_row = std::max(-top, 0);
  const int first_column = std::max(-left, 0);
  const int rows = std::min(height, pixels.height);
  const int columns = std::min(width, pixels.width);
  Pixels out{height, width, std::vector<float>(static_cast<std::size_t>(3) * height * width)};
  for (int c = 0; c < 3; ++c) {
    for (int y = first_row; y < first_row + rows; ++y) {
      const std::size_t from =
          (static_cast<std::size_t>(c) * pixels.height + y + top) * pixels.width + first_column;
      const std::size_t to = (static_cast<std::size_t>(c) * height + y) * width + first_column;
      std::copy_n(pixels.chw.data() + from + left, columns, out.chw.data() + to);
    }
  }
  return out;
}

std::array<int, 2> resized_size(int height, int width, const Preprocessing& options) {
  options.validate();
  if (height < 1 || width < 1) {
    throw std::invalid_argument(fmt::format("a picture of {}x{} pixels is empty", height, width));
  }
  std::array<int, 2> size = {height, width};
  if (options.height > 0) {
    size = {options.height, options.width};
  } else if (options.longest_side > 0) {
    const int longest = std::max(height, width);
    size = {rounded_ratio(height, options.longest_side, longest),
            rounded_ratio(width, options.longest_side, longest)};
  } else if (options.shortest_side > 0) {
    // torchvision truncates the longer side.
    const int shortest = std::min(height, width);
    const std::int64_t side = options.shortest_side;
    size = {static_cast<int>(side * height / shortest), static_cast<int>(side * width / shortest)};
  }
  for (int& side : size) {
    side = std::max(side, options.min_side);
    if (options.round_size) side = nearest_multiple(side, options.multiple);
  }
  return size;
}

Pixels preprocess(const ImageView& view, const Preprocessing& options) {
  view.validate();
  const auto [height, width] = resized_size(view.height, view.width, options);
  if (height < options.multiple || width < options.multiple) {
    throw std::invalid_argument(
        fmt::format("preprocessing: the picture has {}x{} pixels after resizing, less than "
                    "multiple, which is {}",
                    height,
                    width,
                    options.multiple));
  }
  // Published descriptors depend on the order: "pil" kinds resize bytes, "tensor" kinds resize
  // what is already normalised.
  const auto normalized = [&](const ImageView& picture) {
    return to_pixels(picture, options.normalization, options.mean, options.deviation);
  };
  const bool resized = height != view.height || width != view.width;
  Pixels pixels = !resized ? normalized(view)
                  : is_pil(options.resize)
                      ? normalized(resize_image(view, height, width, options.resize))
                      : resize_pixels(normalized(view), height, width, options.resize);
  const int cropped_height = height / options.multiple * options.multiple;
  const int cropped_width = width / options.multiple * options.multiple;
  if (cropped_height == height && cropped_width == width) return pixels;
  return center_crop(pixels, cropped_height, cropped_width);
}

}  // namespace ria
