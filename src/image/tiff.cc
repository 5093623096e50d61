// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include "image/byte_reader.h"
#include "image/codec.h"

namespace ria {

namespace {

using Bytes = std::span<const std::uint8_t>;

/// The values of the directory entry at `at`; none if they are no integers or not in the file.
std::vector<std::uint32_t> entry_values(const ByteReader& reader, std::size_t at) {
  const int size = reader.number(at + 2, 2) == 3u ? 2 : 4;
  const std::size_t count = reader.number(at + 4, 4).value_or(0);
  if (count > reader.bytes.size() / size) return {};
  const std::size_t from = count * size <= 4 ? at + 8 : reader.number(at + 8, 4).value_or(0);
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = reader.number(from + i * size, size);
    if (!value) return {};
    out.push_back(*value);
  }
  return out;
}

/// Whether the first directory and the strips or tiles it names are inside the file; the directory
/// may stand behind them.
bool is_whole(Bytes bytes) {
  constexpr std::uint32_t kStripOffsets = 273, kStripSizes = 279;
  constexpr std::uint32_t kTileOffsets = 324, kTileSizes = 325;
  const ByteReader reader{bytes, bytes[0] == 'I'};
  const std::size_t directory = reader.number(4, 4).value_or(0);
  const auto entries = reader.number(directory, 2);
  if (!entries || !reader.holds(directory + 2, *entries * std::size_t{12})) return false;
  std::vector<std::uint32_t> offsets, sizes;
  for (std::uint32_t i = 0; i < *entries; ++i) {
    const std::size_t at = directory + 2 + i * std::size_t{12};
    const std::uint32_t tag = *reader.number(at, 2);
    const bool places = tag == kStripOffsets || tag == kTileOffsets;
    if (!places && tag != kStripSizes && tag != kTileSizes) continue;
    (places ? offsets : sizes) = entry_values(reader, at);
    if ((places ? offsets : sizes).empty()) return false;
  }
  for (std::size_t i = 0; i < std::min(offsets.size(), sizes.size()); ++i) {
    if (!reader.holds(offsets[i], sizes[i])) return false;
  }
  return true;
}

/// The bytes as libtiff reads a file, and the first error it has to tell.
struct Source {
  Bytes bytes;
  std::size_t at = 0;
  std::string error;
};

Source& source_of(thandle_t handle) { return *static_cast<Source*>(handle); }

tmsize_t read(thandle_t handle, void* to, tmsize_t size) {
  Source& source = source_of(handle);
  const std::size_t left = source.bytes.size() - std::min(source.at, source.bytes.size());
  const std::size_t count = std::min(static_cast<std::size_t>(std::max<tmsize_t>(size, 0)), left);
  if (count > 0) std::memcpy(to, source.bytes.data() + source.at, count);
  source.at += count;
  return static_cast<tmsize_t>(count);
}

toff_t seek(thandle_t handle, toff_t offset, int whence) {
  Source& source = source_of(handle);
  const std::size_t from = whence == SEEK_CUR   ? source.at
                           : whence == SEEK_END ? source.bytes.size()
                                                : 0;
  return source.at = from + offset;
}

toff_t size_of(thandle_t handle) { return source_of(handle).bytes.size(); }

int on_error(TIFF*, void* source, const char*, const char* format, va_list values) {
  char text[512];
  std::vsnprintf(text, sizeof text, format, values);
  std::string& error = static_cast<Source*>(source)->error;
  if (error.empty()) error = std::string(text).substr(0, std::string(text).find('\n'));
  return 1;  // told; nothing is printed
}

int on_warning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

using File = std::unique_ptr<TIFF, void (*)(TIFF*)>;

File open(Source& source) {
  constexpr tmsize_t kMostMemory = tmsize_t{1} << 30;  // of one piece, in bytes
  const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                             TIFFOpenOptionsFree);
  if (!options) throw std::bad_alloc();
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), on_error, &source);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), on_warning, nullptr);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), kMostMemory);
  // Not mapped ("m"): every read is checked here.
  return {TIFFClientOpenExt(
              "TIFF",
              "rm",
              &source,
              read,
              [](thandle_t, void*, tmsize_t) -> tmsize_t { return 0; },
              seek,
              [](thandle_t) { return 0; },
              size_of,
              [](thandle_t, void**, toff_t*) { return 0; },
              [](thandle_t, void*, toff_t) {},
              options.get()),
          TIFFClose};
}

[[noreturn]] void fail(const Source& source) {
  throw std::runtime_error(fmt::format(
      "the picture is a TIFF that is damaged or of no supported kind: {}", source.error));
}

/// libtiff turns half of the orientations itself and multiplies colours by alpha that they are not
/// multiplied by yet; both are told it is not so.
void keep_as_stored(TIFF* tiff) {
  TIFFSetField(tiff, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
  std::uint16_t count = 0;
  std::uint16_t* kinds = nullptr;
  if (!TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds) || count == 0) return;
  std::vector<std::uint16_t> extra(kinds, kinds + count);
  std::replace(extra.begin(),
               extra.end(),
               static_cast<std::uint16_t>(EXTRASAMPLE_UNASSALPHA),
               static_cast<std::uint16_t>(EXTRASAMPLE_ASSOCALPHA));
  TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, count, extra.data());
}

/// The size of the pieces a picture is stored in: tiles, or strips of its own width.
struct Pieces {
  bool tiled;
  std::uint32_t height;
  std::uint32_t width;
};

Pieces pieces_of(TIFF* tiff, std::uint32_t height, std::uint32_t width) {
  Pieces pieces{TIFFIsTiled(tiff) != 0, 0, width};
  if (pieces.tiled) {
    TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &pieces.width);
    TIFFGetField(tiff, TIFFTAG_TILELENGTH, &pieces.height);
  } else {
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &pieces.height);
    if (pieces.height == 0 || pieces.height > height) pieces.height = height;
  }
  check_picture_size(pieces.height, pieces.width);
  return pieces;
}

/// Copies what of a piece at (top, left) is inside the picture. The last `rows` rows of a raster
/// hold it, from the bottom up.
void copy_piece(
    const std::uint32_t* raster, const Pieces& pieces, int top, int left, Image& image) {
  const int rows = std::min<int>(pieces.height, image.height - top);
  const int columns = std::min<int>(pieces.width, image.width - left);
  const std::uint32_t raster_rows = pieces.tiled ? pieces.height : rows;
  for (int y = 0; y < rows; ++y) {
    const std::uint32_t* from =
        raster + static_cast<std::size_t>(raster_rows - 1 - y) * pieces.width;
    std::uint8_t* to = &image.rgb[(static_cast<std::size_t>(top + y) * image.width + left) * 3];
    for (int x = 0; x < columns; ++x, to += 3) {
      to[0] = TIFFGetR(from[x]);
      to[1] = TIFFGetG(from[x]);
      to[2] = TIFFGetB(from[x]);
    }
  }
}

/// The picture grows as its pieces come: a file that promises more than it holds costs little.
Image read_pieces(TIFF* tiff, std::uint32_t height, std::uint32_t width, const Source& source) {
  constexpr int kStopOnError = 1;
  const Pieces pieces = pieces_of(tiff, height, width);
  // Zero without being touched, so that a large piece costs nothing before it is read.
  const std::unique_ptr<std::uint32_t[], decltype(&std::free)> raster(
      static_cast<std::uint32_t*>(std::calloc(pieces.height, pieces.width * sizeof(std::uint32_t))),
      std::free);
  if (!raster) throw std::bad_alloc();
  Image image{static_cast<int>(height), static_cast<int>(width), {}};
  for (std::uint32_t top = 0; top < height; top += pieces.height) {
    for (std::uint32_t left = 0; left < width; left += pieces.width) {
      const int read = pieces.tiled
                           ? TIFFReadRGBATileExt(tiff, left, top, raster.get(), kStopOnError)
                           : TIFFReadRGBAStripExt(tiff, top, raster.get(), kStopOnError);
      if (!read) fail(source);
      const std::size_t rows = std::min(height, top + pieces.height);
      image.rgb.resize(rows * width * 3);
      copy_piece(raster.get(), pieces, static_cast<int>(top), static_cast<int>(left), image);
    }
  }
  return image;
}

}  // namespace

Image decode_tiff(Bytes bytes) {
  if (!is_whole(bytes)) throw std::runtime_error(kCutShort);
  Source source{bytes, 0, {}};
  const File tiff = open(source);
  if (!tiff) fail(source);
  std::uint32_t height = 0, width = 0;
  TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height);
  TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width);
  check_picture_size(height, width);
  char reason[1024] = "";
  if (!TIFFRGBAImageOK(tiff.get(), reason)) {
    throw std::runtime_error(fmt::format("this kind of TIFF is not supported: {}", reason));
  }
  keep_as_stored(tiff.get());
  return read_pieces(tiff.get(), height, width, source);
}

}  // namespace ria
