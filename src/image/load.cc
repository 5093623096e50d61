// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "image/codec.h"
#include "image/format.h"
#include "image/orientation.h"
#include "util/files.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

Image decode_as(PictureFormat format, std::span<const std::uint8_t> bytes) {
  switch (format) {
    case PictureFormat::kJpeg:
      return decode_jpeg(bytes);
    case PictureFormat::kPng:
      return decode_png(bytes);
    case PictureFormat::kWebp:
      return decode_webp(bytes);
    case PictureFormat::kTiff:
      return decode_tiff(bytes);
    case PictureFormat::kBmp:
      return decode_bmp(bytes);
    case PictureFormat::kPnm:
      return decode_pnm(bytes);
    case PictureFormat::kUnknown:
      break;
  }
  throw std::runtime_error("it is no picture ria can read");
}

Image decode(std::span<const std::uint8_t> bytes, const LoadOptions& options) {
  if (bytes.empty()) throw std::runtime_error("the file is empty");
  const PictureFormat format = picture_format(bytes);
  Image image = decode_as(format, bytes);
  if (options.ignore_orientation) return image;
  return upright(std::move(image), find_orientation(bytes, format));
}

}  // namespace

namespace {

thread_local std::uint64_t wanted_pixels = ~std::uint64_t{0};  // of the picture being decoded

}  // namespace

void check_picture_size(std::uint64_t height, std::uint64_t width) {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  constexpr int kMostPixelsLog2 = 20;
#else
  constexpr int kMostPixelsLog2 = 30;
#endif
  constexpr std::uint64_t kMostPixels = std::uint64_t{1} << kMostPixelsLog2;
  if (height == 0 || width == 0) {
    throw std::runtime_error(
        fmt::format("a picture of {}x{} pixels has nothing to see", height, width));
  }
  if (height > kMostPixels / width) {
    throw PictureTooLarge(fmt::format(
        "a picture of {}x{} pixels is larger than 2^{} pixels", height, width, kMostPixelsLog2));
  }
  if (height > wanted_pixels / width) {
    throw PictureTooLarge(fmt::format(
        "a picture of {}x{} pixels is larger than {} pixels", height, width, wanted_pixels));
  }
}

Image blank_image(std::uint64_t height, std::uint64_t width) {
  check_picture_size(height, width);
  return {static_cast<int>(height),
          static_cast<int>(width),
          std::vector<std::uint8_t>(height * width * 3)};
}

Image decode_image(std::span<const std::uint8_t> bytes,
                   const std::string& name,
                   const LoadOptions& options) {
  try {
    return decode(bytes, options);
  } catch (const PictureTooLarge& error) {
    throw PictureTooLarge(fmt::format("cannot read {}: {}", name, error.what()));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format("cannot read {}: {}", name, error.what()));
  }
}

Image decode_image_within(std::uint64_t max_pixels,
                          std::span<const std::uint8_t> bytes,
                          const std::string& name,
                          const LoadOptions& options) {
  struct Limit {
    explicit Limit(std::uint64_t pixels) { wanted_pixels = pixels; }
    ~Limit() { wanted_pixels = ~std::uint64_t{0}; }
  };
  const Limit limit(max_pixels);
  return decode_image(bytes, name, options);
}

Image load_image(const fs::path& file, const LoadOptions& options) {
  return decode_image(read_bytes(file), file.string(), options);
}

}  // namespace ria
