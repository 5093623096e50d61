// SPDX-License-Identifier: MIT
// Pictures of a drive, in the order they were taken: folders, lists and streams.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ria/api.h"

namespace ria {

/// Where a camera was, in metres of the odometry's own frame, and how it was turned.
struct Pose {
  std::array<double, 3> position{};
  std::array<double, 4> rotation{0, 0, 0, 1};  ///< unit quaternion x, y, z, w

  bool operator==(const Pose&) const = default;
};

/// A picture of a drive, with what is known of it.
struct DriveFrame {
  std::filesystem::path picture;
  std::string name;             ///< of the picture, relative to the drive's folder
  std::optional<double> stamp;  ///< seconds
  std::optional<Pose> pose;
};

/// A drive on disk, as load_drive() finds it.
struct Drive {
  std::string name;  ///< of its folder or list
  std::vector<DriveFrame> frames;
  std::vector<std::string> remarks;  ///< what was odd and how it was settled, a line each
};

/// Reads what a drive is made of:
/// - a folder of pictures, in natural order ("img2" before "img10");
/// - a list of `stamp name` lines as TUM has them, or `stamp,name` in nanoseconds as EuRoC's
///   data.csv, names relative to the list (EuRoC's to data/ beside it); '#' begins a comment;
/// - a folder that holds such a list: rgb.txt (TUM), mav0/cam0/data.csv or data.csv (EuRoC);
/// - KITTI: a folder with times.txt and image_2/ (or image_0/).
/// `odometry` is a file of poses: TUM's `stamp x y z qx qy qz qw`, taken by the nearest stamp
/// within half a second, or KITTI's rows of 3 x 4, one a frame. Throws std::runtime_error naming
/// the file and line.
RIA_API Drive load_drive(const std::filesystem::path& folder_or_list,
                         const std::filesystem::path& odometry = {});

/// JPEG files one after the other, as `ffmpeg -f image2pipe -c:v mjpeg -` writes them. The segments
/// of each are walked, so that a thumbnail inside one does not end it. What is no JPEG is passed
/// over up to the next that may be one.
class RIA_API JpegStream {
 public:
  /// Fills the span from its start and returns how many bytes there were; 0: the end.
  using Read = std::function<std::size_t(std::span<std::uint8_t>)>;

  /// A picture of more than `largest` bytes is passed over as well.
  explicit JpegStream(Read read, std::size_t largest = std::size_t{64} << 20);

  /// The bytes of the next whole picture; none at the end.
  std::optional<std::vector<std::uint8_t>> next();
  /// Pictures and runs of other bytes that were passed over up to now.
  int damaged() const { return damaged_; }

 private:
  enum class Walk { kWhole, kBroken, kEnded };

  bool fill(std::size_t size);
  bool find_start();
  Walk walk(std::size_t& at);
  Walk walk_scan(std::size_t& at);

  Read read_;
  std::size_t largest_;
  std::vector<std::uint8_t> buffer_;  ///< from begin_ on: bytes that are not yet given out
  std::size_t begin_ = 0;
  bool ended_ = false;
  bool broken_ = false;  ///< the last picture was
  int damaged_ = 0;
};

}  // namespace ria
