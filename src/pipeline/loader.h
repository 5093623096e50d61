// SPDX-License-Identifier: MIT
// Pictures as a run reads them, and what that takes.
#pragma once

#include <array>
#include <filesystem>

#include "ria/image.h"
#include "util/stopwatch.h"

namespace ria {

/// A picture that is decoded when it is first needed, and again where it is wanted otherwise.
class Loader {
 public:
  explicit Loader(const std::filesystem::path& file) : file_(file) {}

  const std::filesystem::path& file() const { return file_; }
  const Image& image(const LoadOptions& options) {
    if (image_.empty() || options != options_) {
      Stopwatch watch;
      image_ = load_image(file_, options);
      options_ = options;
      image_size_ = {image_.height, image_.width};
      seconds_ = watch.seconds();
    }
    return image_;
  }
  /// Of the decoding; each method that reads the picture anew is told the whole.
  double seconds() const { return seconds_; }
  const std::array<int, 2>& image_size() const { return image_size_; }
  void set_image_size(const std::array<int, 2>& size) { image_size_ = size; }

 private:
  const std::filesystem::path& file_;
  Image image_;
  LoadOptions options_;
  std::array<int, 2> image_size_{};
  double seconds_ = 0;
};

}  // namespace ria
