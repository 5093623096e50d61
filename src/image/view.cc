// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "image/resize.h"

namespace ria {

int channels_of(PixelFormat format) {
  switch (format) {
    case PixelFormat::kRgb:
    case PixelFormat::kBgr:
      return 3;
    case PixelFormat::kGrey:
      return 1;
    case PixelFormat::kRgba:
    case PixelFormat::kBgra:
      return 4;
  }
  throw std::invalid_argument("a picture's format is none of PixelFormat");
}

std::array<int, 3> rgb_offsets(PixelFormat format) {
  if (format == PixelFormat::kGrey) return {0, 0, 0};
  const bool reversed = format == PixelFormat::kBgr || format == PixelFormat::kBgra;
  return reversed ? std::array<int, 3>{2, 1, 0} : std::array<int, 3>{0, 1, 2};
}

void copy_row(const ImageView& view, int row, std::uint8_t* rgb) {
  const std::uint8_t* pixel = view.data + row * view.stride;
  if (view.format == PixelFormat::kRgb) {
    std::copy_n(pixel, static_cast<std::size_t>(view.width) * 3, rgb);
    return;
  }
  const int channels = channels_of(view.format);
  const auto [red, green, blue] = rgb_offsets(view.format);
  for (int x = 0; x < view.width; ++x, pixel += channels, rgb += 3) {
    rgb[0] = pixel[red];
    rgb[1] = pixel[green];
    rgb[2] = pixel[blue];
  }
}

void check_image(const Image& image) {
  const bool valid = image.height >= 1 && image.width >= 1;
  if (valid && image.rgb.size() == static_cast<std::size_t>(image.height) * image.width * 3) return;
  throw std::invalid_argument(fmt::format(
      "a picture of {}x{} pixels holds {} values", image.height, image.width, image.rgb.size()));
}

ImageView::ImageView(const Image& image)
    : data(image.rgb.data()),
      height(image.height),
      width(image.width),
      stride(static_cast<std::ptrdiff_t>(image.width) * 3) {
  check_image(image);
}

void ImageView::validate() const {
  if (height < 1 || width < 1) {
    throw std::invalid_argument(fmt::format(
        "a picture's height is {} and its width {}, at least 1 was expected", height, width));
  }
  if (data == nullptr) throw std::invalid_argument("a picture's data is null");
  const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(width) * channels_of(format);
  if (stride < row) {
    throw std::invalid_argument(fmt::format(
        "a picture's stride is {} bytes, its rows of {} pixels have {}", stride, width, row));
  }
}

}  // namespace ria
