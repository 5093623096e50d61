// SPDX-License-Identifier: MIT
#include "ria/opencv.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace ria {
namespace {

TEST(OpenCv, MatricesArePictures) {
  cv::Mat bgr(5, 7, CV_8UC3);
  Image image{4, 3, {}};  // rows 1..4, columns 2..4
  for (int y = 0; y < 5; ++y) {
    for (int x = 0; x < 7; ++x) {
      const cv::Vec3b pixel(y * 10 + x, y * 10 + x + 70, y * 10 + x + 140);
      bgr.at<cv::Vec3b>(y, x) = pixel;
      if (y < 1 || x < 2 || x > 4) continue;
      image.rgb.insert(image.rgb.end(), {pixel[2], pixel[1], pixel[0]});
    }
  }
  const cv::Mat part = bgr(cv::Rect(2, 1, 3, 4));
  EXPECT_EQ(view(part).data, part.data);
  EXPECT_EQ(to_pixels(view(part), Normalization::kRaw).chw,
            to_pixels(image, Normalization::kRaw).chw);
  const cv::Mat grey(3, 4, CV_8UC1, cv::Scalar(9)), bgra(3, 4, CV_8UC4, cv::Scalar(1, 2, 3, 4));
  EXPECT_EQ(resize_image(view(grey), 1, 1, Resize::kPilBilinear).rgb,
            (std::vector<std::uint8_t>{9, 9, 9}));
  EXPECT_EQ(resize_image(view(bgra), 1, 1, Resize::kPilBilinear).rgb,
            (std::vector<std::uint8_t>{3, 2, 1}));
}

TEST(OpenCv, RefusesWhatIsNoPicture) {
  EXPECT_THROW(view(cv::Mat(3, 4, CV_32FC3)), std::invalid_argument);
  EXPECT_THROW(view(cv::Mat(3, 4, CV_8UC2)), std::invalid_argument);
  EXPECT_THROW(view(cv::Mat()), std::invalid_argument);
}

}  // namespace
}  // namespace ria
