// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <stdexcept>
#include <utility>

#include "image/format.h"
#include "image/jpeg.h"
#include "image/resize.h"
#include "util/files.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

std::string lower_extension(const fs::path& file) {
  std::string extension = file.extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

// cv::Exception::what() is several lines and names OpenCV's source files.
std::string short_reason(const cv::Exception& error) {
  return error.err.substr(0, error.err.find('\n'));
}

void silence_opencv() {
  using namespace cv::utils::logging;
  [[maybe_unused]] static const LogLevel previous = setLogLevel(LOG_LEVEL_SILENT);
}

Image decode_with_opencv(const std::vector<std::uint8_t>& bytes) {
  silence_opencv();
  cv::Mat bgr;
  try {
    // OpenCV makes 8-bit BGR of every depth, palette and colour space it knows.
    bgr = cv::imdecode(bytes, cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION);
  } catch (const cv::Exception& error) {
    throw std::runtime_error("OpenCV refuses it (" + short_reason(error) + ")");
  }
  if (bgr.empty() || bgr.type() != CV_8UC3) {
    throw std::runtime_error("the picture is damaged or of a kind ria cannot read");
  }
  Image image{bgr.rows, bgr.cols, std::vector<std::uint8_t>(bgr.total() * 3)};
  cv::Mat rgb(image.height, image.width, CV_8UC3, image.rgb.data());
  cv::cvtColor(bgr, rgb, cv::COLOR_BGR2RGB);
  return image;
}

Image decode(std::vector<std::uint8_t> bytes) {
  if (bytes.empty()) throw std::runtime_error("the file is empty");
  const PictureFormat format = picture_format(bytes);
  const std::string fault = find_fault(bytes, format);
  if (!fault.empty()) throw std::runtime_error(fault);
  if (format == PictureFormat::kJpeg) return decode_jpeg(bytes);
  if (format == PictureFormat::kPng) bytes = bare_png(bytes);
  if (format == PictureFormat::kTiff) keep_tiff_colours(bytes);
  return decode_with_opencv(bytes);
}

std::vector<std::uint8_t> encode(const Image& image,
                                 const std::string& extension,
                                 int jpeg_quality) {
  check_image(image);
  silence_opencv();
  // OpenCV has no constant Mat; the picture is only read.
  const cv::Mat rgb(
      image.height, image.width, CV_8UC3, const_cast<std::uint8_t*>(image.rgb.data()));
  std::vector<int> parameters;
  if (extension != ".png") parameters = {cv::IMWRITE_JPEG_QUALITY, jpeg_quality};
  std::vector<std::uint8_t> bytes;
  try {
    cv::Mat bgr;
    cv::cvtColor(rgb, bgr, cv::COLOR_RGB2BGR);
    if (cv::imencode(extension, bgr, bytes, parameters)) return bytes;
  } catch (const cv::Exception& error) {
    throw std::runtime_error("cannot encode the picture: " + short_reason(error));
  }
  throw std::runtime_error(fmt::format(
      "cannot encode a picture of {}x{} pixels as {}", image.height, image.width, extension));
}

bool is_picture_name(const fs::path& file) {
  static constexpr std::array<std::string_view, 9> kEndings = {
      ".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm"};
  return std::find(kEndings.begin(), kEndings.end(), lower_extension(file)) != kEndings.end();
}

// Benchmarks are often linked together from several disks, so links to folders are followed, except
// to a folder that is being listed already.
void collect_pictures(const fs::path& folder,
                      std::vector<fs::path>& parents,
                      std::vector<fs::path>& pictures) {
  const fs::path self = fs::canonical(folder);
  if (std::find(parents.begin(), parents.end(), self) != parents.end()) return;
  parents.push_back(self);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    std::error_code broken_link;
    if (entry.is_directory(broken_link)) {
      collect_pictures(entry.path(), parents, pictures);
    } else if (entry.is_regular_file(broken_link) && is_picture_name(entry.path())) {
      pictures.push_back(entry.path());
    }
  }
  parents.pop_back();
}

}  // namespace

Image load_image(const fs::path& file) {
  std::vector<std::uint8_t> bytes = read_bytes(file);
  try {
    return decode(std::move(bytes));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format("cannot read {}: {}", file.string(), error.what()));
  }
}

void save_image(const fs::path& file, const Image& image, int jpeg_quality) {
  const std::string extension = lower_extension(file);
  if (extension != ".jpg" && extension != ".jpeg" && extension != ".png") {
    throw std::runtime_error(
        fmt::format("cannot write {}: the name must end in .jpg, .jpeg or .png", file.string()));
  }
  const std::vector<std::uint8_t> bytes = encode(image, extension, jpeg_quality);
  AtomicFile out(file);
  out.write(bytes);
  out.commit();
}

std::vector<std::uint8_t> encode_jpeg(const Image& image, int longest_side, int quality) {
  check_image(image);
  if (longest_side <= 0 || std::max(image.height, image.width) <= longest_side) {
    return encode(image, ".jpg", quality);
  }
  Preprocessing smaller;
  smaller.longest_side = longest_side;
  const auto [height, width] = resized_size(image.height, image.width, smaller);
  return encode(resize_image(image, height, width, Resize::kPilBilinear), ".jpg", quality);
}

std::vector<fs::path> list_pictures(const fs::path& folder_or_file) {
  if (!fs::exists(folder_or_file)) {
    throw std::runtime_error(fmt::format("there is no file or folder {}", folder_or_file.string()));
  }
  if (!fs::is_directory(folder_or_file)) return {folder_or_file};
  std::vector<fs::path> parents;
  std::vector<fs::path> pictures;
  collect_pictures(folder_or_file, parents, pictures);
  if (pictures.empty()) {
    throw std::runtime_error(
        fmt::format("there is no picture in folder {}", folder_or_file.string()));
  }
  // fs::path compares part by part; whole strings give the order of `sort` and of file lists.
  std::sort(pictures.begin(), pictures.end(), [](const fs::path& a, const fs::path& b) {
    return a.native() < b.native();
  });
  return pictures;
}

}  // namespace ria
