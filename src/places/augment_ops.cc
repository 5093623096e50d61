// SPDX-License-Identifier: MIT
#include "places/augment_ops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace ria {

namespace {

/// Cut off, not rounded, as a cast of torch's does.
std::uint8_t to_byte(float value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f));
}

std::uint8_t blend(float first, float second, float ratio) {
  return to_byte(ratio * first + (1.0f - ratio) * second);
}

using ByteTable = std::array<std::uint8_t, 256>;

template <typename ValueOf>
ByteTable table_of(const ValueOf& value_of) {
  ByteTable table{};
  for (int v = 0; v < 256; ++v) table[static_cast<std::size_t>(v)] = value_of(v);
  return table;
}

void look_up(Image& image, const ByteTable& table) {
  for (std::uint8_t& value : image.rgb) value = table[value];
}

/// Each of the three channels through its table.
template <typename TableOf>
void look_up_channels(Image& image, const TableOf& table_of_channel) {
  for (std::size_t c = 0; c < 3; ++c) {
    const ByteTable table = table_of_channel(c);
    for (std::size_t i = c; i < image.rgb.size(); i += 3) image.rgb[i] = table[image.rgb[i]];
  }
}

std::uint8_t grey(const std::uint8_t* rgb) {
  return to_byte(0.2989f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2]);
}

std::array<std::int64_t, 256> histogram(const Image& image, std::size_t channel) {
  std::array<std::int64_t, 256> counts{};
  for (std::size_t i = channel; i < image.rgb.size(); i += 3) ++counts[image.rgb[i]];
  return counts;
}

/// Hue in sixths of the circle, chroma and largest value -> RGB with the hue turned.
void turn_pixel(std::uint8_t* rgb, double share) {
  const double r = rgb[0] / 255.0, g = rgb[1] / 255.0, b = rgb[2] / 255.0;
  const double most = std::max({r, g, b}), chroma = most - std::min({r, g, b});
  if (chroma == 0) return;
  double sixths = most == r   ? (g - b) / chroma
                  : most == g ? 2 + (b - r) / chroma
                              : 4 + (r - g) / chroma;
  sixths += 6 * share;
  const auto value = [&](int n) {
    const double k = sixths + n - 6 * std::floor((sixths + n) / 6);
    return most - chroma * std::clamp(std::min(k, 4 - k), 0.0, 1.0);
  };
  // torchvision's way back to 8 bits.
  const auto back = [](double v) { return to_byte(static_cast<float>(v * (256.0 - 1e-3))); };
  rgb[0] = back(value(5));
  rgb[1] = back(value(3));
  rgb[2] = back(value(1));
}

}  // namespace

void adjust_brightness(Image& image, double factor) {
  const float ratio = static_cast<float>(factor);
  look_up(image, table_of([&](int v) { return blend(static_cast<float>(v), 0, ratio); }));
}

void adjust_contrast(Image& image, double factor) {
  if (image.empty()) return;
  double sum = 0;
  for (std::size_t i = 0; i < image.rgb.size(); i += 3) sum += grey(&image.rgb[i]);
  const float mean = static_cast<float>(sum / static_cast<double>(image.rgb.size() / 3));
  const float ratio = static_cast<float>(factor);
  look_up(image, table_of([&](int v) { return blend(static_cast<float>(v), mean, ratio); }));
}

void adjust_saturation(Image& image, double factor) {
  const float ratio = static_cast<float>(factor);
  for (std::size_t i = 0; i < image.rgb.size(); i += 3) {
    const float level = grey(&image.rgb[i]);
    for (std::size_t c = 0; c < 3; ++c) image.rgb[i + c] = blend(image.rgb[i + c], level, ratio);
  }
}

void adjust_sharpness(Image& image, double factor) {
  if (image.height <= 2 || image.width <= 2) return;
  const float ratio = static_cast<float>(factor);
  const std::vector<std::uint8_t> source = image.rgb;
  const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(image.width) * 3;
  // The border stays as it is.
  for (int y = 1; y + 1 < image.height; ++y) {
    for (std::ptrdiff_t x = 3; x < row - 3; ++x) {
      const std::uint8_t* at = source.data() + y * row + x;
      int sum = 4 * at[0];  // the middle counts 5 of 13
      for (const std::ptrdiff_t up : {-row, std::ptrdiff_t{0}, row}) {
        sum += at[up - 3] + at[up] + at[up + 3];
      }
      const float smooth = std::nearbyint(static_cast<float>(sum) / 13.0f);
      image.rgb[static_cast<std::size_t>(y * row + x)] = blend(at[0], smooth, ratio);
    }
  }
}

void adjust_hue(Image& image, double share) {
  for (std::size_t i = 0; i < image.rgb.size(); i += 3) turn_pixel(&image.rgb[i], share);
}

void adjust_gamma(Image& image, double gamma, double gain) {
  look_up(image, table_of([&](int v) {
            return to_byte(static_cast<float>(gain * std::pow(v / 255.0, gamma) * (256.0 - 1e-3)));
          }));
}

void posterize(Image& image, int bits) {
  const auto mask = static_cast<std::uint8_t>(0xff00 >> bits);
  for (std::uint8_t& value : image.rgb) value &= mask;
}

void solarize(Image& image, double threshold) {
  look_up(image,
          table_of([&](int v) { return static_cast<std::uint8_t>(v >= threshold ? 255 - v : v); }));
}

void autocontrast(Image& image) {
  look_up_channels(image, [&](std::size_t c) {
    const auto counts = histogram(image, c);
    int least = 0, most = 255;
    while (least < 255 && counts[static_cast<std::size_t>(least)] == 0) ++least;
    while (most > 0 && counts[static_cast<std::size_t>(most)] == 0) --most;
    const bool flat = most <= least;
    const float scale = flat ? 1.0f : 255.0f / static_cast<float>(most - least);
    return table_of(
        [&](int v) { return to_byte(static_cast<float>(flat ? v : v - least) * scale); });
  });
}

void equalize(Image& image) {
  look_up_channels(image, [&](std::size_t c) {
    const auto counts = histogram(image, c);
    std::int64_t all = 0, last = 0;
    for (const std::int64_t count : counts) {
      all += count;
      if (count > 0) last = count;
    }
    const std::int64_t step = (all - last) / 255;
    std::int64_t below = 0;
    return table_of([&](int v) {
      const std::int64_t level =
          step == 0 ? v : std::min<std::int64_t>((below + step / 2) / step, 255);
      below += counts[static_cast<std::size_t>(v)];
      return static_cast<std::uint8_t>(level);
    });
  });
}

void flip_horizontally(Image& image) {
  for (int y = 0; y < image.height; ++y) {
    std::uint8_t* row = image.rgb.data() + static_cast<std::size_t>(y) * image.width * 3;
    for (int left = 0, right = image.width - 1; left < right; ++left, --right) {
      std::swap_ranges(row + left * 3, row + left * 3 + 3, row + right * 3);
    }
  }
}

// Half a pixel: an edge is that far in front of the middle of its first pixel.
Image sheared_x(const Image& image, double amount) {
  return warp_image(image, {1, -amount, -amount / 2, 0, 1, 0, 0, 0, 1});
}

Image sheared_y(const Image& image, double amount) {
  return warp_image(image, {1, 0, 0, -amount, 1, -amount / 2, 0, 0, 1});
}

Image translated(const Image& image, int right, int down) {
  return warp_image(image,
                    {1, 0, static_cast<double>(right), 0, 1, static_cast<double>(down), 0, 0, 1});
}

Image rotated(const Image& image, double degrees) {
  const double angle = degrees * std::numbers::pi / 180, c = std::cos(angle), s = std::sin(angle);
  const double x = (image.width - 1) / 2.0, y = (image.height - 1) / 2.0;
  return warp_image(image, {c, s, x - c * x - s * y, -s, c, y + s * x - c * y, 0, 0, 1});
}

}  // namespace ria
