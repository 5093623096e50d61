// SPDX-License-Identifier: MIT
#include <opencv2/imgproc.hpp>

#include "ria/image.h"

namespace ria {

Homography homography_of(const std::array<std::array<double, 2>, 4>& from,
                         const std::array<std::array<double, 2>, 4>& to) {
  cv::Point2f a[4], b[4];
  for (int i = 0; i < 4; ++i) {
    a[i] = {static_cast<float>(from[i][0]), static_cast<float>(from[i][1])};
    b[i] = {static_cast<float>(to[i][0]), static_cast<float>(to[i][1])};
  }
  const cv::Mat matrix = cv::getPerspectiveTransform(a, b);
  Homography out{};
  for (int i = 0; i < 9; ++i) out[i] = matrix.at<double>(i / 3, i % 3);
  return out;
}

Image warp_image(const Image& image, const Homography& homography) {
  Image out{image.height, image.width, std::vector<std::uint8_t>(image.rgb.size())};
  cv::Mat matrix(3, 3, CV_64F);
  for (int i = 0; i < 9; ++i) matrix.at<double>(i / 3, i % 3) = homography[i];
  const cv::Mat from(
      image.height, image.width, CV_8UC3, const_cast<std::uint8_t*>(image.rgb.data()));
  cv::Mat to(out.height, out.width, CV_8UC3, out.rgb.data());
  cv::warpPerspective(from, to, matrix, to.size(), cv::INTER_LINEAR, cv::BORDER_REFLECT_101);
  return out;
}

}  // namespace ria
