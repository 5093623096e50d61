// SPDX-License-Identifier: MIT
// Pictures: from a file to the normalised pixels a backbone reads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "ria/api.h"

namespace ria {

/// An RGB picture, 8 bits a channel, rows from top to bottom, channels interleaved.
struct Image {
  int height = 0;
  int width = 0;
  std::vector<std::uint8_t> rgb;  ///< height * width * 3 values

  bool empty() const { return rgb.empty(); }  ///< whether there is no pixel
};

/// How the bytes of a pixel follow each other; alpha is never looked at.
enum class PixelFormat { kRgb, kBgr, kGrey, kRgba, kBgra };

/// A picture that somebody else holds: a camera's frame, a part of a larger picture. It is read
/// where it is; the bytes must stay as long as the view is used.
struct RIA_API ImageView {
  const std::uint8_t* data = nullptr;  ///< first byte of the upper left pixel
  int height = 0;
  int width = 0;
  std::ptrdiff_t stride = 0;  ///< bytes from row to row
  PixelFormat format = PixelFormat::kRgb;

  ImageView() = default;
  /// The fields, in their order.
  ImageView(const std::uint8_t* pixels,
            int rows,
            int columns,
            std::ptrdiff_t row_bytes,
            PixelFormat pixel_format)
      : data(pixels), height(rows), width(columns), stride(row_bytes), format(pixel_format) {}
  /// Throws std::invalid_argument unless the picture holds what its size says.
  ImageView(const Image& image);
  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// What a backbone reads: three channel planes of floats, [channel][row][column].
struct Pixels {
  int height = 0;
  int width = 0;
  std::vector<float> chw;  ///< 3 * height * width values

  /// One value of `chw`.
  float at(int channel, int row, int column) const {
    return chw[(static_cast<std::size_t>(channel) * height + row) * width + column];
  }
};

/// How a picture is resampled. The names say whose arithmetic is reproduced, because published
/// descriptors depend on it: "pil" rounds to 8 bits between two passes as Pillow does, "tensor"
/// works on floats as torchvision does on tensors, with (`_aa`) or without antialiasing.
enum class Resize {
  kPilBilinear,
  kPilBicubic,
  kPilLanczos,
  kTensorBilinear,
  kTensorBilinearAa,
  kTensorBicubic,
  kTensorBicubicAa,
  kTensorNearest,
};

/// What the numbers handed to the backbone mean.
enum class Normalization {
  kImagenet,   ///< value / 255, minus mean, divided by standard deviation, RGB
  kCaffe,      ///< BGR, 0..255, minus (103.939, 116.779, 123.68): Keras ResNet50
  kRaw,        ///< RGB, 0..255
  kMinusMean,  ///< RGB, 0..255, minus Preprocessing::mean: networks whose file brings their mean
  kStandard,   ///< RGB, value / 255, minus Preprocessing::mean, divided by ::deviation
};

/// How a picture file is read.
struct LoadOptions {
  /// Pixels as they are stored, even where the file says which way up the camera was held: EXIF's
  /// orientation in JPEG, PNG and WebP, tag 274 of a TIFF.
  bool ignore_orientation = false;

  bool operator==(const LoadOptions&) const = default;
};

/// From a file to the size the backbone sees.
struct RIA_API Preprocessing {
  LoadOptions load;  ///< of the file; preprocess() itself has a picture already
  Resize resize = Resize::kPilBilinear;
  Normalization normalization = Normalization::kImagenet;
  /// Red, green, blue: of kMinusMean in 0..255, of kStandard in 0..1; others ignore them.
  std::array<float, 3> mean{};
  std::array<float, 3> deviation{1, 1, 1};  ///< of kStandard
  int height = 0;  ///< exact size in pixels if both are set; 0: keep the aspect ratio
  int width = 0;
  int longest_side = 0;     ///< pixels; 0: native size. Smaller pictures are enlarged to it
  int shortest_side = 0;    ///< pixels; 0: off. Exclusive with longest_side and height, width
  int min_side = 1;         ///< pixels; a resized side is never shorter than this
  int multiple = 1;         ///< centre crop both sides down to a multiple of this
  bool round_size = false;  ///< resize both sides to the nearest multiple instead (half to even)

  bool operator==(const Preprocessing&) const = default;
  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// Reads a picture file as upright RGB: JPEG, PNG, WebP, TIFF, BMP or PNM by its content, whatever
/// its name; grey, 16-bit, CMYK and palette pictures are converted, alpha is left out, of several
/// pictures the first is taken. Throws std::runtime_error naming the file if it is missing, no
/// picture, damaged, cut short or larger than 2^30 pixels.
RIA_API Image load_image(const std::filesystem::path& file, const LoadOptions& options = {});

/// The same from the bytes of a file; `name` is what errors call it.
RIA_API Image decode_image(std::span<const std::uint8_t> bytes,
                           const std::string& name,
                           const LoadOptions& options = {});

/// Writes a picture; the ending of the name chooses JPEG or PNG. Throws std::runtime_error.
RIA_API void save_image(const std::filesystem::path& file,
                        const Image& image,
                        int jpeg_quality = 92);

/// The picture as a JPEG in memory, its longest side at most `longest_side` pixels (0: as it is).
RIA_API std::vector<std::uint8_t> encode_jpeg(const Image& image,
                                              int longest_side = 0,
                                              int quality = 80);

/// Resampled on 8-bit values (the "pil" kinds) or on floats rounded back to 8 bits (the "tensor"
/// kinds).
RIA_API Image resize_image(const ImageView& view, int height, int width, Resize kind);

/// Resampled float planes; the "tensor" kinds only.
RIA_API Pixels resize_pixels(const Pixels& pixels, int height, int width, Resize kind);

/// Row-major 3x3 matrix that maps points (x, y, 1) of a picture to points of another.
using Homography = std::array<double, 9>;

/// The homography that maps four points to four points.
RIA_API Homography homography_of(const std::array<std::array<double, 2>, 4>& from,
                                 const std::array<std::array<double, 2>, 4>& to);

/// The picture as the homography moves it, at the same size, bilinear; what comes from outside is
/// mirrored at the border.
RIA_API Image warp_image(const Image& image, const Homography& homography);

/// Centre crop with torchvision's rounding (half to even); pads with zeros where the input is
/// smaller.
RIA_API Pixels center_crop(const Pixels& pixels, int height, int width);

/// Planes of normalised floats, at the picture's own size; `mean` and `deviation` as Preprocessing
/// has them.
RIA_API Pixels to_pixels(const ImageView& view,
                         Normalization normalization,
                         const std::array<float, 3>& mean = {},
                         const std::array<float, 3>& deviation = {1, 1, 1});

/// The size a picture gets before the crop, (height, width).
RIA_API std::array<int, 2> resized_size(int height, int width, const Preprocessing& options);

/// The whole step: resize, normalise, crop.
RIA_API Pixels preprocess(const ImageView& view, const Preprocessing& options);

/// Dense SIFT histograms of the grey picture: one row of 128 values for each grid point, row-major
/// grid. `pixels` are kRaw. `cell` is the side in pixels of one of the 4x4 histogram cells.
struct DenseSift {
  int grid_height = 0;
  int grid_width = 0;
  std::vector<float> histograms;  ///< grid_height * grid_width * 128
};
RIA_API DenseSift dense_sift(const Pixels& pixels, int step, float cell);

/// The picture files below a folder (.jpg .jpeg .png .bmp .tif .tiff .webp .ppm .pgm, any case),
/// sorted as whole path strings. A file stands for itself. Throws std::runtime_error if there is
/// none.
RIA_API std::vector<std::filesystem::path> list_pictures(
    const std::filesystem::path& folder_or_file);

}  // namespace ria
