// SPDX-License-Identifier: MIT
// libjpeg by itself prints warnings and fills what is damaged with grey. It is left by longjmp, so
// the frames between hold no C++ objects with destructors.
#include <fmt/format.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
// After <cstdio>, which it needs.
#include <jpeglib.h>
// After jpeglib.h.
#include <jerror.h>

#include "image/codec.h"

namespace ria {

namespace {

using Bytes = std::span<const std::uint8_t>;

struct Decoder {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
  Bytes bytes;
  std::uint8_t* rgb;
};

[[noreturn]] void leave(j_common_ptr info) {
  auto* decoder = static_cast<Decoder*>(info->client_data);
  info->err->format_message(info, decoder->message);
  std::longjmp(decoder->escape, 1);
}

// Before the first scan stray bytes belong to nothing. Behind one, some cameras (Logitech C270)
// leave a few; more are left over by a decoder that has lost its place in damaged data.
bool are_strays(const Decoder& decoder) {
  constexpr int kFew = 16;
  return decoder.info.input_scan_number == 0 || decoder.errors.msg_parm.i[0] <= kFew;
}

bool is_harmless(const Decoder& decoder) {
  switch (decoder.errors.msg_code) {
    case JWRN_EXTRANEOUS_DATA:
      return are_strays(decoder);
    case JWRN_ADOBE_XFORM:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL:  // fields of a scan's header that mean nothing in this kind of file
      return true;
    default:
      return false;
  }
}

void on_message(j_common_ptr info, int level) {
  const bool warning = level < 0;
  if (warning && !is_harmless(*static_cast<Decoder*>(info->client_data))) leave(info);
}

/// Runs a step; false if it was left, with the reason in the coder.
template <typename Coder>
bool completes(Coder& coder, void (*step)(Coder&)) {
  if (setjmp(coder.escape) != 0) return false;
  step(coder);
  return true;
}

void read_header(Decoder& decoder) {
  jpeg_decompress_struct& info = decoder.info;
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, decoder.bytes.data(), decoder.bytes.size());
  jpeg_read_header(&info, TRUE);
  // Could be decoded, but not told from damaged data, and hardly any program reads it.
  if (info.arith_code) ERREXIT(&info, JERR_ARITH_NOTIMPL);
}

void cmyk_to_rgb(const std::uint8_t* cmyk, int width, std::uint8_t* rgb) {
  for (int x = 0; x < width; ++x) {
    const int black = cmyk[x * 4 + 3];
    for (int c = 0; c < 3; ++c) {
      rgb[x * 3 + c] = static_cast<std::uint8_t>(black - ((255 - cmyk[x * 4 + c]) * black >> 8));
    }
  }
}

void read_pixels(Decoder& decoder) {
  jpeg_decompress_struct& info = decoder.info;
  const bool cmyk = info.num_components == 4;
  info.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
  jpeg_start_decompress(&info);
  for (int c = 0; c < info.num_components; ++c) {
    // Set by a component's first scan; what has none would be filled with grey.
    if (info.comp_info[c].quant_table == nullptr) ERREXIT(&info, JERR_MISSING_DATA);
  }
  const JDIMENSION width = info.output_width;
  auto* common = reinterpret_cast<j_common_ptr>(&info);
  JSAMPROW cmyk_row = cmyk ? info.mem->alloc_sarray(common, JPOOL_IMAGE, width * 4, 1)[0] : nullptr;
  while (info.output_scanline < info.output_height) {
    JSAMPROW rgb_row = decoder.rgb + static_cast<std::size_t>(info.output_scanline) * width * 3;
    jpeg_read_scanlines(&info, cmyk ? &cmyk_row : &rgb_row, 1);
    if (cmyk) cmyk_to_rgb(cmyk_row, static_cast<int>(width), rgb_row);
  }
  jpeg_finish_decompress(&info);
}

[[noreturn]] void fail(const Decoder& decoder) {
  switch (decoder.errors.msg_code) {
    case JERR_OUT_OF_MEMORY:
      throw std::bad_alloc();
    case JWRN_JPEG_EOF:
      throw std::runtime_error(kCutShort);
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_COMPONENT_COUNT:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_SOF_UNSUPPORTED:
      throw std::runtime_error(
          fmt::format("this kind of JPEG is not supported: {}", decoder.message));
    default:
      throw std::runtime_error(fmt::format("the picture is a damaged JPEG: {}", decoder.message));
  }
}

void check_size(const jpeg_decompress_struct& info, std::size_t file_size) {
  constexpr std::uint64_t kMostPixelsByte = 8 * 64;  // a block of 8x8 pixels takes a bit or more
  check_picture_size(info.image_height, info.image_width);
  const std::uint64_t pixels = static_cast<std::uint64_t>(info.image_height) * info.image_width;
  if (pixels / kMostPixelsByte > file_size) throw std::runtime_error(kCutShort);
}

struct Encoder {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
  const Image* image;
  int quality;
  unsigned char* bytes;  // libjpeg's, by malloc
  unsigned long size;

  ~Encoder() {
    jpeg_destroy_compress(&info);
    std::free(bytes);
  }
};

[[noreturn]] void leave_encoder(j_common_ptr info) {
  auto* encoder = static_cast<Encoder*>(info->client_data);
  info->err->format_message(info, encoder->message);
  std::longjmp(encoder->escape, 1);
}

void write_pixels(Encoder& encoder) {
  jpeg_compress_struct& info = encoder.info;
  const Image& image = *encoder.image;
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &encoder.bytes, &encoder.size);
  info.image_height = image.height;
  info.image_width = image.width;
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, encoder.quality, TRUE);
  jpeg_start_compress(&info, TRUE);
  const std::size_t row = static_cast<std::size_t>(image.width) * 3;
  while (info.next_scanline < info.image_height) {
    // libjpeg has no constant rows; they are only read.
    auto* line = const_cast<JSAMPROW>(image.rgb.data() + info.next_scanline * row);
    jpeg_write_scanlines(&info, &line, 1);
  }
  jpeg_finish_compress(&info);
}

}  // namespace

Image decode_jpeg(Bytes bytes) {
  Decoder decoder{};
  decoder.bytes = bytes;
  decoder.info.client_data = &decoder;
  decoder.info.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = leave;
  decoder.errors.emit_message = on_message;
  const std::unique_ptr<jpeg_decompress_struct, void (*)(j_decompress_ptr)> cleanup(
      &decoder.info, jpeg_destroy_decompress);
  if (!completes(decoder, read_header)) fail(decoder);
  check_size(decoder.info, bytes.size());
  Image image = blank_image(decoder.info.image_height, decoder.info.image_width);
  decoder.rgb = image.rgb.data();
  if (!completes(decoder, read_pixels)) fail(decoder);
  return image;
}

std::vector<std::uint8_t> write_jpeg(const Image& image, int quality) {
  Encoder encoder{};
  encoder.image = &image;
  encoder.quality = quality;
  encoder.info.client_data = &encoder;
  encoder.info.err = jpeg_std_error(&encoder.errors);
  encoder.errors.error_exit = leave_encoder;
  encoder.errors.emit_message = [](j_common_ptr, int) {};
  if (!completes(encoder, write_pixels)) {
    if (encoder.errors.msg_code == JERR_OUT_OF_MEMORY) throw std::bad_alloc();
    throw std::runtime_error(fmt::format("cannot write the picture as JPEG: {}", encoder.message));
  }
  return {encoder.bytes, encoder.bytes + encoder.size};
}

}  // namespace ria
