// SPDX-License-Identifier: MIT
// A descriptor file in hloc's layout, written by the plugin of HDF5.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ria {

/// The group /NAME with the datasets global_descriptor and image_size.
struct HlocPicture {
  std::string name;
  std::span<const float> descriptor;
  std::array<std::int64_t, 2> image_size;  ///< width, height
};

struct HlocFile {
  std::vector<HlocPicture> pictures;                            ///< no name twice
  std::vector<std::pair<std::string, std::string>> attributes;  ///< of the root
};

/// What libria-hdf5.so offers.
struct Hdf5Functions {
  /// Writes over the file; false: HDF5 refused.
  bool (*write)(const std::string& file, const HlocFile& content);
};

}  // namespace ria
