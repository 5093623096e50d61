// SPDX-License-Identifier: MIT
// Small datasets of every published form, written file by file.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ria/dataset.h"
#include "ria/image.h"
#include "support/mat_elements.h"
#include "support/spill.h"
#include "support/temporary_folder.h"

namespace ria::dataset_test {

namespace fs = std::filesystem;
using Lists = std::vector<std::vector<int>>;
using mat_elements::le;

inline std::string npy(const std::string& descr,
                       const std::string& shape,
                       const std::string& data) {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize((header.size() + 10 + 63) / 64 * 64 - 10, ' ');
  return std::string("\x93NUMPY\x01\x00", 8) + le(static_cast<std::uint16_t>(header.size())) +
         header + data;
}

/// An array of text, as numpy.save writes a list of names.
inline std::string npy_names(const std::vector<std::string>& names) {
  std::size_t longest = 1;
  for (const std::string& name : names) longest = std::max(longest, name.size());
  std::string data;
  for (const std::string& name : names) {
    for (std::size_t i = 0; i < longest; ++i) {
      data += le<std::uint32_t>(i < name.size() ? static_cast<unsigned char>(name[i]) : 0);
    }
  }
  return npy(fmt::format("<U{}", longest), fmt::format("({},)", names.size()), data);
}

inline std::string npy_table(const std::vector<std::vector<double>>& rows) {
  std::string data;
  for (const auto& row : rows) {
    for (const double value : row) data += le(value);
  }
  return npy("<f8", fmt::format("({}, {})", rows.size(), rows.empty() ? 0 : rows[0].size()), data);
}

inline std::string npy_integers(const std::vector<std::int64_t>& values) {
  std::string data;
  for (const std::int64_t value : values) data += le(value);
  return npy("<i8", fmt::format("({},)", values.size()), data);
}

/// An object array of lists; with `numbered` of rows [query, list]. The pickle is NumPy's.
inline std::string npy_lists(const Lists& lists, bool numbered, int first = 0) {
  const auto integer = [](int value) { return "J" + le<std::int32_t>(value); };
  std::string items;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (numbered) items += integer(first + static_cast<int>(i));
    items += "](";
    for (const int place : lists[i]) items += integer(place);
    items += "e";
  }
  const std::string count = integer(static_cast<int>(lists.size()));
  const std::string shape = "(" + count + (numbered ? integer(2) : "") + "t";
  const std::string zero("K\0", 2), minus_one = integer(-1);
  const std::string dtype = "cnumpy\ndtype\nU\x02O8" + zero + "K\x01\x87R(K\x03U\x01|NNN" +
                            minus_one + minus_one + "K?tb";
  const std::string pickle =
      "\x80\x02"
      "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n" +
      zero +
      "\x85U\x01"
      "b\x87R(K\x01" +
      shape + dtype + "\x89](" + items + "etb.";
  const std::string written = fmt::format("({},{})", lists.size(), numbered ? " 2" : "");
  return npy("|O", written, pickle);
}

struct Member {
  std::string name;
  std::string content;
};

/// A stored zip archive: what numpy.savez writes.
inline std::string zip(const std::vector<Member>& members) {
  std::string out, directory;
  for (const auto& [name, content] : members) {
    const auto size = static_cast<std::uint32_t>(content.size());
    const auto sum = static_cast<std::uint32_t>(
        ::crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(size)));
    const std::string common = std::string(8, '\0') + le(sum) + le(size) + le(size) +
                               le(static_cast<std::uint16_t>(name.size())) + le<std::uint16_t>(0);
    directory += "PK\x01\x02" + le<std::uint16_t>(20) + le<std::uint16_t>(20) + common +
                 std::string(10, '\0') + le(static_cast<std::uint32_t>(out.size())) + name;
    out += "PK\x03\x04" + le<std::uint16_t>(20) + common + name + content;
  }
  const auto count = static_cast<std::uint16_t>(members.size());
  const auto start = static_cast<std::uint32_t>(out.size());
  return out + directory + "PK\x05\x06" + le<std::uint32_t>(0) + le(count) + le(count) +
         le(static_cast<std::uint32_t>(directory.size())) + le(start) + le<std::uint16_t>(0);
}

inline std::string mat_numbers(int rows, int columns, const std::vector<double>& by_columns) {
  std::string data;
  for (const double value : by_columns) data += le(value);
  return mat_elements::matrix(
      mat_elements::kDouble, {rows, columns}, "", mat_elements::element(9, data));
}

/// One text, or rows padded with spaces.
inline std::string mat_text(const std::vector<std::string>& rows) {
  std::size_t longest = 0;
  for (const std::string& row : rows) longest = std::max(longest, row.size());
  std::string data;
  for (std::size_t column = 0; column < longest; ++column) {
    for (const std::string& row : rows) {
      data += le<std::uint16_t>(column < row.size() ? row[column] : ' ');
    }
  }
  return mat_elements::matrix(mat_elements::kChar,
                              {static_cast<int>(rows.size()), static_cast<int>(longest)},
                              "",
                              mat_elements::element(4, data));
}

inline std::string mat_cell(const std::vector<std::string>& items, const std::string& name = "") {
  std::string content;
  for (const std::string& item : items) content += item;
  return mat_elements::matrix(
      mat_elements::kCell, {static_cast<int>(items.size()), 1}, name, content);
}

/// Names as MATLAB keeps them: a cell of char arrays.
inline std::string mat_names(const std::vector<std::string>& names) {
  std::vector<std::string> cells;
  for (const std::string& name : names) cells.push_back(mat_text({name}));
  return mat_cell(cells);
}

inline std::string mat_struct(const std::string& name, const std::vector<Member>& fields) {
  constexpr int kWidth = 32;
  std::string names, content;
  for (const Member& field : fields) {
    names += field.name + std::string(kWidth - field.name.size(), '\0');
    content += field.content;
  }
  return mat_elements::matrix(
      mat_elements::kStruct,
      {1, 1},
      name,
      mat_elements::small(5, le<std::int32_t>(kWidth)) + mat_elements::element(1, names) + content);
}

class DatasetTest : public ::testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& bytes) const {
    return spill(folder_ / name, bytes);
  }

  /// A picture of its own colours.
  void picture(const std::string& name) {
    const auto low = static_cast<std::uint8_t>(++pictures_);
    const auto high = static_cast<std::uint8_t>(pictures_ >> 8);
    fs::create_directories((folder_ / name).parent_path());
    save_image(folder_ / name, Image{1, 2, {low, high, 7, 0, 0, 0}});
  }

  /// FOLDER/0.png to FOLDER/(count-1).png without content: reading a set does not decode.
  void sequence(const std::string& folder, int count) {
    for (int i = 0; i < count; ++i) write(fmt::format("{}/{}.png", folder, i), "");
  }

  static std::vector<std::string> relative(const std::vector<fs::path>& files, const fs::path& to) {
    std::vector<std::string> names;
    for (const fs::path& file : files) names.push_back(fs::relative(file, to).string());
    return names;
  }

  TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
  int pictures_ = 0;
};

/// Whether a line has all these parts.
inline bool remarked(const std::vector<std::string>& lines, const std::vector<std::string>& parts) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    return std::all_of(parts.begin(), parts.end(), [&](const std::string& part) {
      return line.find(part) != std::string::npos;
    });
  });
}

/// +-tolerance frames, past the last place too if `over`.
inline Lists frames(int queries, int places, int tolerance, bool over = false) {
  Lists lists(static_cast<std::size_t>(queries));
  for (int q = 0; q < queries; ++q) {
    for (int i = std::max(0, q - tolerance); i <= q + tolerance; ++i) {
      if (over || i < places) lists[static_cast<std::size_t>(q)].push_back(i);
    }
  }
  return lists;
}

}  // namespace ria::dataset_test
