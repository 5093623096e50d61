// SPDX-License-Identifier: MIT
// Pictures: from a file to the normalised pixels a backbone reads.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ria {

/// An RGB picture, 8 bits a channel, rows from top to bottom, channels interleaved.
struct Image {
  int height = 0;
  int width = 0;
  std::vector<std::uint8_t> rgb;  ///< height * width * 3 values

  bool empty() const { return rgb.empty(); }
};

/// What a backbone reads: three channel planes of floats, [channel][row][column].
struct Pixels {
  int height = 0;
  int width = 0;
  std::vector<float> chw;  ///< 3 * height * width values

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
};

/// From a picture's native size to the size the backbone sees.
struct Preprocessing {
  Resize resize = Resize::kPilBilinear;
  Normalization normalization = Normalization::kImagenet;
  std::array<float, 3> mean{};  ///< of kMinusMean: red, green, blue in 0..255; others ignore it
  int height = 0;               ///< exact size in pixels if both are set; 0: keep the aspect ratio
  int width = 0;
  int longest_side = 0;   ///< pixels; 0: native size. Smaller pictures are enlarged to it
  int shortest_side = 0;  ///< pixels; 0: off. Exclusive with longest_side and height, width
  int min_side = 1;       ///< pixels; a resized side is never shorter than this
  int multiple = 1;       ///< centre crop both sides down to a multiple of this

  bool operator==(const Preprocessing&) const = default;
  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// Reads a picture file as RGB: grey, 16-bit, CMYK and alpha pictures are converted. EXIF
/// orientation is ignored, as the field's tools do. Throws std::runtime_error naming the file if it
/// is missing, no picture, damaged or cut short.
Image load_image(const std::filesystem::path& file);

/// Writes a picture; the ending of the name chooses JPEG or PNG. Throws std::runtime_error.
void save_image(const std::filesystem::path& file, const Image& image, int jpeg_quality = 92);

/// The picture as a JPEG in memory, its longest side at most `longest_side` pixels (0: as it is).
std::vector<std::uint8_t> encode_jpeg(const Image& image, int longest_side = 0, int quality = 80);

/// Resampled on 8-bit values (the "pil" kinds) or on floats rounded back to 8 bits (the "tensor"
/// kinds).
Image resize_image(const Image& image, int height, int width, Resize kind);

/// Resampled float planes; the "tensor" kinds only.
Pixels resize_pixels(const Pixels& pixels, int height, int width, Resize kind);

/// Row-major 3x3 matrix that maps points (x, y, 1) of a picture to points of another.
using Homography = std::array<double, 9>;

/// The homography that maps four points to four points.
Homography homography_of(const std::array<std::array<double, 2>, 4>& from,
                         const std::array<std::array<double, 2>, 4>& to);

/// The picture as the homography moves it, at the same size, bilinear; what comes from outside is
/// mirrored at the border.
Image warp_image(const Image& image, const Homography& homography);

/// Centre crop with torchvision's rounding (half to even); pads with zeros where the input is
/// smaller.
Pixels center_crop(const Pixels& pixels, int height, int width);

/// Planes of normalised floats, at the picture's own size. `mean` is that of kMinusMean.
Pixels to_pixels(const Image& image,
                 Normalization normalization,
                 const std::array<float, 3>& mean = {});

/// The size a picture gets before the crop, (height, width).
std::array<int, 2> resized_size(int height, int width, const Preprocessing& options);

/// The whole step: resize, normalise, crop.
Pixels preprocess(const Image& image, const Preprocessing& options);

/// Dense SIFT histograms of the grey picture: one row of 128 values for each grid point, row-major
/// grid. `pixels` are kRaw. `cell` is the side in pixels of one of the 4x4 histogram cells.
struct DenseSift {
  int grid_height = 0;
  int grid_width = 0;
  std::vector<float> histograms;  ///< grid_height * grid_width * 128
};
DenseSift dense_sift(const Pixels& pixels, int step, float cell);

/// The picture files below a folder (.jpg .jpeg .png .bmp .tif .tiff .webp .ppm .pgm, any case),
/// sorted as whole path strings. A file stands for itself. Throws std::runtime_error if there is
/// none.
std::vector<std::filesystem::path> list_pictures(const std::filesystem::path& folder_or_file);

}  // namespace ria
