// SPDX-License-Identifier: MIT
// Ground truth as it is published: NumPy arrays of lists and numbers, comma-separated text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "dataset/positives.h"

namespace ria {

/// Lists of database positions, one a query.
struct ListedPositives {
  PositiveLists lists;
  std::vector<std::int64_t> query;  ///< which query each list is for, where the file says so
};

/// A .npy of N lists, of N rows [query, list], or of N numbers or rows of numbers.
ListedPositives read_positive_lists(const std::filesystem::path& file);

/// The rows of a numeric .npy with two axes (also of one that holds Python numbers).
std::vector<std::vector<double>> read_rows(const std::filesystem::path& file);

/// The columns of comma-separated text by their titles in the first line; a comma between quotes is
/// text. Lines that are empty are not counted, rows that are shorter are filled with empty text.
std::map<std::string, std::vector<std::string>> read_csv(const std::filesystem::path& file);

/// The finite number a text is, spaces around it ignored; throws std::runtime_error naming `where`.
double to_number(const std::string& text, const std::string& where);

}  // namespace ria
