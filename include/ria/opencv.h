// SPDX-License-Identifier: MIT
// Pictures as OpenCV holds them. For programs that use OpenCV already: the library itself does not,
// and ria.h leaves this header out.
#pragma once

#include <opencv2/core.hpp>
#include <stdexcept>
#include <string>

#include "ria/image.h"

namespace ria {

/// The matrix where it is, as OpenCV orders colours: CV_8UC3 is BGR, CV_8UC4 is BGRA, CV_8UC1 grey.
/// It must outlive the view. Throws std::invalid_argument for any other type.
inline ImageView view(const cv::Mat& mat) {
  const auto of = [&](PixelFormat format) {
    return ImageView(
        mat.data, mat.rows, mat.cols, static_cast<std::ptrdiff_t>(mat.step[0]), format);
  };
  if (mat.dims == 2) {
    switch (mat.type()) {
      case CV_8UC1:
        return of(PixelFormat::kGrey);
      case CV_8UC3:
        return of(PixelFormat::kBgr);
      case CV_8UC4:
        return of(PixelFormat::kBgra);
    }
  }
  throw std::invalid_argument(
      "a cv::Mat of type " + std::to_string(mat.type()) + " and " + std::to_string(mat.dims) +
      " dimensions is no picture: CV_8UC1, CV_8UC3 or CV_8UC4 was expected");
}

}  // namespace ria
