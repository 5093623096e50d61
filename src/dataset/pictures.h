// SPDX-License-Identifier: MIT
// The pictures of a dataset: found in a folder or named in a list.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "dataset/loading.h"

namespace ria {

/// The pictures below a folder in natural order.
std::vector<std::filesystem::path> pictures_in(const std::filesystem::path& folder);

/// The lines of FOLDER_images_paths.txt as files in the folder, if there is that list; otherwise
/// the pictures below the folder, sorted as strings or in natural order.
std::vector<std::filesystem::path> listed_or_found(const std::filesystem::path& folder,
                                                   bool natural);

/// The lines of a text file that are not empty, ends of lines of any kind.
std::vector<std::string> read_lines(const std::filesystem::path& file);

/// The files behind listed names: below the first of `roots` that has most of them, a .png where
/// the .jpg is not there. Missing ones are remarked and stay in the list, so that its positions
/// hold; throws if none is there.
std::vector<std::filesystem::path> find_listed(Loading& loading,
                                               const std::vector<std::string>& names,
                                               const std::vector<std::filesystem::path>& roots,
                                               const std::string& what);

/// Where listed pictures may be: options.images_folder or, without, the set's folder; these folders
/// in it; the folder around the set's.
std::vector<std::filesystem::path> picture_roots(const Loading& loading,
                                                 const std::vector<std::string>& below);

}  // namespace ria
