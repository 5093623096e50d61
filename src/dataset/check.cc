// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>

#include "dataset/loading.h"
#include "ria/image.h"
#include "util/hash.h"
#include "util/parallel.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

using Files = std::vector<fs::path>;

/// Every picture once, in order of its name.
Files all_pictures(const Loading& loading) {
  Files files = loading.dataset.database;
  files.insert(files.end(), loading.dataset.queries.begin(), loading.dataset.queries.end());
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  Files missing = loading.missing_pictures;
  std::sort(missing.begin(), missing.end());
  Files present;
  std::set_difference(
      files.begin(), files.end(), missing.begin(), missing.end(), std::back_inserter(present));
  return present;
}

/// Decodes and hashes what is there.
void check_pictures(const Files& files, const DatasetCheckOptions& options, DatasetCheck& check) {
  std::vector<std::string> errors(files.size()), hashes(files.size());
  std::mutex mutex;
  int done = 0;
  parallel_for(
      static_cast<int>(files.size()),
      resolve_threads(options.num_threads),
      [&](int i) {
        try {
          load_image(files[i]);
          hashes[i] = sha256_file(files[i]);
        } catch (const std::runtime_error& error) {
          errors[i] = error.what();
        }
        if (!options.progress) return;
        const std::lock_guard lock(mutex);
        options.progress(++done, static_cast<int>(files.size()));
      },
      options.stop);
  std::map<std::string, Files> same;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!errors[i].empty()) check.unreadable.push_back(errors[i]);
    if (!hashes[i].empty()) same[hashes[i]].push_back(files[i]);
  }
  for (auto& [hash, group] : same) {
    if (group.size() > 1) check.duplicates.push_back(std::move(group));
  }
  std::sort(check.duplicates.begin(), check.duplicates.end());
}

}  // namespace

bool DatasetCheck::clean() const {
  return usable && missing.empty() && problems.empty() && unreadable.empty() && duplicates.empty();
}

DatasetCheck check_dataset(const std::string& name,
                           const fs::path& data_folder,
                           const DatasetCheckOptions& options) {
  const DatasetEntry& entry = find_entry(name);
  const DatasetOptions settled = settle_options(entry.info, options.dataset);
  DatasetCheck check;
  check.name = name;
  check.folder = data_folder;
  if (!fs::is_directory(data_folder)) {
    check.missing.push_back(data_folder.string());
    return check;
  }
  const FoundForm found = find_form(entry, data_folder, settled);
  check.folder = found.folder;
  check.missing = found.missing;
  if (found.form == nullptr) return check;
  try {
    const Loading loading = load_form(entry, found, settled);
    check.usable = true;
    check.database = static_cast<int>(loading.dataset.database.size());
    check.queries = static_cast<int>(loading.dataset.queries.size());
    check.problems = loading.problems;
    check.notes = loading.notes;
    for (const fs::path& file : loading.missing_pictures) check.missing.push_back(file.string());
    if (options.pictures) check_pictures(all_pictures(loading), options, check);
  } catch (const std::runtime_error& error) {
    check.problems.push_back(error.what());
  }
  return check;
}

}  // namespace ria
