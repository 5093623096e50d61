// SPDX-License-Identifier: MIT
#include <webp/decode.h>
#include <webp/demux.h>

#include <memory>
#include <stdexcept>

#include "image/byte_reader.h"
#include "image/codec.h"

namespace ria {

namespace {

using Bytes = std::span<const std::uint8_t>;

[[noreturn]] void fail() { throw std::runtime_error("the picture is a damaged WebP"); }

Image decode_first_frame(Bytes bytes, int height, int width) {
  WebPAnimDecoderOptions options;
  if (!WebPAnimDecoderOptionsInit(&options)) fail();
  const WebPData data{bytes.data(), bytes.size()};
  const std::unique_ptr<WebPAnimDecoder, void (*)(WebPAnimDecoder*)> decoder(
      WebPAnimDecoderNew(&data, &options), WebPAnimDecoderDelete);
  std::uint8_t* rgba = nullptr;  // the decoder's own, of the whole picture's size
  int milliseconds = 0;
  if (!decoder || !WebPAnimDecoderGetNext(decoder.get(), &rgba, &milliseconds)) fail();
  Image image = blank_image(height, width);
  for (std::size_t i = 0; i < image.rgb.size() / 3; ++i) {
    for (int c = 0; c < 3; ++c) image.rgb[i * 3 + c] = rgba[i * 4 + c];
  }
  return image;
}

}  // namespace

Image decode_webp(Bytes bytes) {
  constexpr std::size_t kRiffHeader = 8;
  const std::size_t size = ByteReader{bytes}.number(4, 4).value_or(0);
  if (size > bytes.size() - kRiffHeader) throw std::runtime_error(kCutShort);
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(bytes.data(), bytes.size(), &features);
  if (status == VP8_STATUS_NOT_ENOUGH_DATA) throw std::runtime_error(kCutShort);
  if (status != VP8_STATUS_OK) fail();
  check_picture_size(features.height, features.width);
  if (features.has_animation) return decode_first_frame(bytes, features.height, features.width);
  Image image = blank_image(features.height, features.width);
  const bool decoded =
      WebPDecodeRGBInto(
          bytes.data(), bytes.size(), image.rgb.data(), image.rgb.size(), image.width * 3) !=
      nullptr;
  if (!decoded) fail();
  return image;
}

}  // namespace ria
