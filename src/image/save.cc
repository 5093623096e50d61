// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "image/codec.h"
#include "image/extension.h"
#include "image/resize.h"
#include "util/files.h"

namespace ria {

namespace fs = std::filesystem;

void save_image(const fs::path& file, const Image& image, int jpeg_quality) {
  const std::string extension = lower_extension(file);
  if (extension != ".jpg" && extension != ".jpeg" && extension != ".png") {
    throw std::runtime_error(
        fmt::format("cannot write {}: the name must end in .jpg, .jpeg or .png", file.string()));
  }
  check_image(image);
  const std::vector<std::uint8_t> bytes =
      extension == ".png" ? write_png(image) : write_jpeg(image, jpeg_quality);
  AtomicFile out(file);
  out.write(bytes);
  out.commit();
}

std::vector<std::uint8_t> encode_jpeg(const Image& image, int longest_side, int quality) {
  check_image(image);
  if (longest_side <= 0 || std::max(image.height, image.width) <= longest_side) {
    return write_jpeg(image, quality);
  }
  Preprocessing smaller;
  smaller.longest_side = longest_side;
  const auto [height, width] = resized_size(image.height, image.width, smaller);
  return write_jpeg(resize_image(image, height, width, Resize::kPilBilinear), quality);
}

}  // namespace ria
