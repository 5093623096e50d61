// SPDX-License-Identifier: MIT
// libpng is left by longjmp, so the frames between hold no C++ objects with destructors.
#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "image/codec.h"

namespace ria {

namespace {

using Bytes = std::span<const std::uint8_t>;

/// What reading and writing share: the library's two structures and the way out of it.
struct Coder {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf escape;
  std::string message;
  bool cut_short = false;
};

[[noreturn]] void leave(png_structp png, png_const_charp message) {
  auto* coder = static_cast<Coder*>(png_get_error_ptr(png));
  coder->message = message;
  std::longjmp(coder->escape, 1);
}

void ignore_warning(png_structp, png_const_charp) {}

struct Decoder : Coder {
  Bytes rest;
  std::uint8_t* rgb = nullptr;

  Decoder() {
    png = png_create_read_struct(
        PNG_LIBPNG_VER_STRING, static_cast<Coder*>(this), leave, ignore_warning);
    info = png != nullptr ? png_create_info_struct(png) : nullptr;
  }
  ~Decoder() { png_destroy_read_struct(&png, &info, nullptr); }
  Decoder(const Decoder&) = delete;
};

struct Encoder : Coder {
  const Image* image = nullptr;
  std::vector<std::uint8_t> bytes;

  Encoder() {
    png = png_create_write_struct(
        PNG_LIBPNG_VER_STRING, static_cast<Coder*>(this), leave, ignore_warning);
    info = png != nullptr ? png_create_info_struct(png) : nullptr;
  }
  ~Encoder() { png_destroy_write_struct(&png, &info); }
  Encoder(const Encoder&) = delete;
};

/// Runs a step; false if it was left, with the reason in the coder.
template <typename C>
bool completes(C& coder, void (*step)(C&)) {
  if (coder.info == nullptr) throw std::bad_alloc();
  if (setjmp(coder.escape) != 0) return false;
  step(coder);
  return true;
}

void give_bytes(png_structp png, png_bytep to, png_size_t size) {
  auto* decoder = static_cast<Decoder*>(png_get_io_ptr(png));
  if (size > decoder->rest.size()) {
    decoder->cut_short = true;
    png_error(png, kCutShort);
  }
  std::copy_n(decoder->rest.data(), size, to);
  decoder->rest = decoder->rest.subspan(size);
}

void read_header(Decoder& decoder) {
  png_structp png = decoder.png;
  png_set_read_fn(png, &decoder, give_bytes);
  // Chunks that do not change the stored colours are passed over, however large or damaged.
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_keep_unknown_chunks(
      png, PNG_HANDLE_CHUNK_NEVER, reinterpret_cast<png_const_bytep>("tRNS"), 1);
  png_set_chunk_malloc_max(png, 0);
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  png_set_crc_action(png, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);
#endif
  png_read_info(png, decoder.info);
}

void read_pixels(Decoder& decoder) {
  png_structp png = decoder.png;
  const int colour = png_get_color_type(png, decoder.info);
  png_set_strip_16(png);
  png_set_strip_alpha(png);
  if (colour == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if ((colour & PNG_COLOR_MASK_COLOR) == 0) {
    png_set_expand_gray_1_2_4_to_8(png);
    png_set_gray_to_rgb(png);
  }
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, decoder.info);
  const std::size_t row = png_get_rowbytes(png, decoder.info);
  if (row != static_cast<std::size_t>(png_get_image_width(png, decoder.info)) * 3) {
    png_error(png, "rows are not RGB");
  }
  const png_uint_32 height = png_get_image_height(png, decoder.info);
  for (int pass = 0; pass < passes; ++pass) {
    for (png_uint_32 y = 0; y < height; ++y) png_read_row(png, decoder.rgb + y * row, nullptr);
  }
  png_read_end(png, nullptr);
}

[[noreturn]] void fail(const Decoder& decoder) {
  if (decoder.cut_short) throw std::runtime_error(kCutShort);
  throw std::runtime_error(fmt::format("the picture is a damaged PNG: {}", decoder.message));
}

void take_bytes(png_structp png, png_bytep from, png_size_t size) {
  auto* encoder = static_cast<Encoder*>(png_get_io_ptr(png));
  try {
    encoder->bytes.insert(encoder->bytes.end(), from, from + size);
    return;
  } catch (const std::bad_alloc&) {
  }
  png_error(png, "out of memory");
}

void write_pixels(Encoder& encoder) {
  constexpr int kFastest = 1, kRunLengths = 3;  // of zlib's levels and strategies
  png_structp png = encoder.png;
  const Image& image = *encoder.image;
  png_set_write_fn(png, &encoder, take_bytes, [](png_structp) {});
  png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB);
  png_set_compression_level(png, kFastest);
  png_set_compression_strategy(png, kRunLengths);
  png_set_IHDR(png,
               encoder.info,
               image.width,
               image.height,
               8,
               PNG_COLOR_TYPE_RGB,
               PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, encoder.info);
  const std::size_t row = static_cast<std::size_t>(image.width) * 3;
  for (int y = 0; y < image.height; ++y) png_write_row(png, image.rgb.data() + y * row);
  png_write_end(png, encoder.info);
}

}  // namespace

Image decode_png(Bytes bytes) {
  constexpr std::uint64_t kMostRatio = 1032;  // of deflate
  Decoder decoder;
  decoder.rest = bytes;
  if (!completes(decoder, read_header)) fail(decoder);
  const std::uint64_t height = png_get_image_height(decoder.png, decoder.info);
  check_picture_size(height, png_get_image_width(decoder.png, decoder.info));
  if (height * png_get_rowbytes(decoder.png, decoder.info) / kMostRatio > bytes.size()) {
    throw std::runtime_error(kCutShort);
  }
  Image image = blank_image(height, png_get_image_width(decoder.png, decoder.info));
  decoder.rgb = image.rgb.data();
  if (!completes(decoder, read_pixels)) fail(decoder);
  return image;
}

std::vector<std::uint8_t> write_png(const Image& image) {
  Encoder encoder;
  encoder.image = &image;
  if (!completes(encoder, write_pixels)) {
    throw std::runtime_error(fmt::format("cannot write the picture as PNG: {}", encoder.message));
  }
  return std::move(encoder.bytes);
}

}  // namespace ria
