// SPDX-License-Identifier: MIT
#include "image/resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "util/multiversion.h"

namespace ria {

namespace {

inline std::uint8_t round_to_byte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kPrecisionBits, 0, 255));
}

using Int4 = std::int32_t __attribute__((vector_size(16)));
using Byte4 = std::uint8_t __attribute__((vector_size(4)));

// Four bytes are read for each pixel and the fourth ignored, so `source` has one byte more than
// its pixels.
RIA_MULTIVERSION
void pil_row(const std::uint8_t* source, const FixedTaps& taps, std::uint8_t* destination) {
  const int size = static_cast<int>(taps.first.size());
  for (int i = 0; i < size; ++i) {
    const std::uint8_t* pixel = source + static_cast<std::size_t>(taps.first[i]) * 3;
    const std::int32_t* weight = taps.weight.data() + static_cast<std::size_t>(i) * taps.stride;
    constexpr std::int32_t half = 1 << (kPrecisionBits - 1);
    Int4 sum = {half, half, half, half};
    for (int k = 0; k < taps.count[i]; ++k, pixel += 3) {
      Byte4 bytes;
      std::memcpy(&bytes, pixel, 4);
      sum += __builtin_convertvector(bytes, Int4) * weight[k];
    }
    for (int c = 0; c < 3; ++c) destination[i * 3 + c] = round_to_byte(sum[c]);
  }
}

// One output row of the vertical pass, in strips whose sums stay in registers or the first cache.
RIA_MULTIVERSION
void pil_column(const std::uint8_t* source,
                int row,
                const std::int32_t* weight,
                int count,
                std::uint8_t* destination) {
  constexpr int kStrip = 256;
  std::int32_t sum[kStrip];
  for (int begin = 0; begin < row; begin += kStrip) {
    const int size = std::min(kStrip, row - begin);
    std::fill_n(sum, kStrip, 1 << (kPrecisionBits - 1));
    for (int k = 0; k < count; ++k) {
      const std::uint8_t* line = source + static_cast<std::size_t>(k) * row + begin;
      const std::int32_t w = weight[k];
      for (int i = 0; i < size; ++i) sum[i] += w * line[i];
    }
    for (int i = 0; i < size; ++i) destination[begin + i] = round_to_byte(sum[i]);
  }
}

// A pass that would change nothing is left out, as Pillow does.
Image resize_pil(const ImageView& view, int height, int width, Resize kind) {
  const std::size_t row = static_cast<std::size_t>(width) * 3;
  Image wide{view.height, width, std::vector<std::uint8_t>(view.height * row)};
  if (width == view.width) {
    for (int y = 0; y < view.height; ++y) copy_row(view, y, wide.rgb.data() + y * row);
  } else {
    const FixedTaps taps = pil_taps(view.width, width, kind);
    std::vector<std::uint8_t> line(static_cast<std::size_t>(view.width) * 3 + 1);
    for (int y = 0; y < view.height; ++y) {
      copy_row(view, y, line.data());
      pil_row(line.data(), taps, wide.rgb.data() + y * row);
    }
  }
  if (height == view.height) return wide;
  const FixedTaps taps = pil_taps(view.height, height, kind);
  Image out{height, width, std::vector<std::uint8_t>(height * row)};
  for (int y = 0; y < height; ++y) {
    pil_column(wide.rgb.data() + taps.first[y] * row,
               static_cast<int>(row),
               taps.weight.data() + static_cast<std::size_t>(y) * taps.stride,
               taps.count[y],
               out.rgb.data() + y * row);
  }
  return out;
}

RIA_MULTIVERSION
void resize_row(const float* source, const Taps& taps, float* destination) {
  for (int i = 0; i < taps.size(); ++i) {
    const float* in = source + taps.first[i];
    const float* weight = taps.of(i);
    float sum = 0.0f;
    for (int k = 0; k < taps.count[i]; ++k) sum += weight[k] * in[k];
    destination[i] = sum;
  }
}

Pixels resize_columns(const Pixels& pixels, int height, Resize kind) {
  if (height == pixels.height) return pixels;
  const Taps taps = tensor_taps(pixels.height, height, kind);
  const std::size_t row = pixels.width;
  Pixels out{height, pixels.width, std::vector<float>(3 * height * row)};
  for (int c = 0; c < 3; ++c) {
    const float* plane = pixels.chw.data() + c * pixels.height * row;
    for (int y = 0; y < height; ++y) {
      sum_rows(plane + taps.first[y] * row,
               pixels.width,
               taps.of(y),
               taps.count[y],
               out.chw.data() + (static_cast<std::size_t>(c) * height + y) * row);
    }
  }
  return out;
}

Pixels resize_rows(const Pixels& pixels, int width, Resize kind) {
  if (width == pixels.width) return pixels;
  const Taps taps = tensor_taps(pixels.width, width, kind);
  const std::size_t rows = static_cast<std::size_t>(3) * pixels.height;
  Pixels out{pixels.height, width, std::vector<float>(rows * width)};
  for (std::size_t y = 0; y < rows; ++y) {
    resize_row(pixels.chw.data() + y * pixels.width, taps, out.chw.data() + y * width);
  }
  return out;
}

void check_size(int height, int width) {
  if (height >= 1 && width >= 1) return;
  throw std::invalid_argument(
      fmt::format("cannot resize to {}x{} pixels: a side must be at least 1", height, width));
}

RIA_MULTIVERSION
void sum_strips(const float* source, int row, const float* weight, int count, float* destination) {
  constexpr int kStrip = 256;
  float sum[kStrip];
  for (int begin = 0; begin < row; begin += kStrip) {
    const int size = std::min(kStrip, row - begin);
    std::fill_n(sum, kStrip, 0.0f);
    for (int k = 0; k < count; ++k) {
      const float* line = source + static_cast<std::size_t>(k) * row + begin;
      const float w = weight[k];
      for (int i = 0; i < size; ++i) sum[i] += w * line[i];
    }
    std::copy_n(sum, size, destination + begin);
  }
}

}  // namespace

void sum_rows(const float* source, int row, const float* weight, int count, float* destination) {
  sum_strips(source, row, weight, count, destination);
}

bool is_pil(Resize kind) {
  return kind == Resize::kPilBilinear || kind == Resize::kPilBicubic || kind == Resize::kPilLanczos;
}

void check_pixels(const Pixels& pixels) {
  const bool valid = pixels.height >= 1 && pixels.width >= 1;
  if (valid && pixels.chw.size() == static_cast<std::size_t>(pixels.height) * pixels.width * 3) {
    return;
  }
  throw std::invalid_argument(fmt::format(
      "planes of {}x{} pixels hold {} values", pixels.height, pixels.width, pixels.chw.size()));
}

Image resize_image(const ImageView& view, int height, int width, Resize kind) {
  view.validate();
  check_size(height, width);
  if (is_pil(kind)) return resize_pil(view, height, width, kind);
  const Pixels resized = resize_pixels(to_pixels(view, Normalization::kRaw), height, width, kind);
  const std::size_t area = static_cast<std::size_t>(height) * width;
  Image out{height, width, std::vector<std::uint8_t>(area * 3)};
  for (std::size_t i = 0; i < area; ++i) {
    for (int c = 0; c < 3; ++c) {
      const float value = std::clamp(resized.chw[c * area + i], 0.0f, 255.0f);
      out.rgb[i * 3 + c] = static_cast<std::uint8_t>(std::nearbyint(value));
    }
  }
  return out;
}

Pixels resize_pixels(const Pixels& pixels, int height, int width, Resize kind) {
  check_pixels(pixels);
  check_size(height, width);
  if (is_pil(kind)) {
    throw std::invalid_argument("the pil kinds of resizing work on 8-bit pictures, not on floats");
  }
  // The order changes only the last bit of a float: take the one that does less work.
  if (height < pixels.height) {
    return resize_rows(resize_columns(pixels, height, kind), width, kind);
  }
  return resize_columns(resize_rows(pixels, width, kind), height, kind);
}

}  // namespace ria
