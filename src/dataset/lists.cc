// SPDX-License-Identifier: MIT
// Sets published as lists of names: NumPy arrays, text files beside an archive of positions.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "archive/bytes.h"
#include "dataset/forms.h"
#include "dataset/pictures.h"
#include "dataset/positives.h"
#include "dataset/tables.h"
#include "tensor/npy.h"
#include "tensor/npy_objects.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

/// The same list under the names its publishers gave it.
const std::vector<std::string> kDatabaseLists{"_dbImages.npy", "_ref_image_names.npy"};
const std::vector<std::string> kQueryLists{"_qImages.npy", "_query_image_names.npy"};
const std::vector<std::string> kTruths{
    "_gt.npy", "_gt_25m.npy", "_ground_truth_25m.npy", "_ground_truth.npy", "_pIdx.npy"};

fs::path first_of(const Loading& loading,
                  const std::string& prefix,
                  const std::vector<std::string>& endings) {
  for (const std::string& ending : endings) {
    const fs::path file = loading.folder / (prefix + ending);
    if (fs::exists(file)) return file;
  }
  return {};
}

/// `prefix` itself or, if that is empty, the only one there is; with several the one that has the
/// split's name.
std::string prefix_of(const Loading& loading, const std::string& prefix) {
  if (!prefix.empty()) return loading.fill(prefix);
  std::vector<std::string> found;
  for (const std::string& ending : kDatabaseLists) {
    for (const fs::path& file : files_ending(loading, {""}, ending)) {
      const std::string name = file.filename().string();
      found.push_back(name.substr(0, name.size() - ending.size()));
    }
  }
  const std::string& split = loading.options.split;
  if (found.size() > 1 && !split.empty()) {
    std::erase_if(found, [&](const std::string& name) { return !name.ends_with(split); });
  }
  if (found.size() > 1) {
    throw std::invalid_argument(fmt::format("{}: lists of several sets ({}), split chooses one",
                                            loading.folder.string(),
                                            fmt::join(found, ", ")));
  }
  return found.empty() ? "NAME" : found[0];
}

std::vector<std::string> missing_lists(const Loading& loading, const std::string& wanted) {
  const std::string prefix = prefix_of(loading, wanted);
  std::vector<std::string> missing;
  for (const auto* endings : {&kDatabaseLists, &kQueryLists}) {
    if (first_of(loading, prefix, *endings).empty()) missing.push_back(prefix + endings->front());
  }
  if (!missing.empty() && first_of(loading, prefix, kTruths).empty()) {
    missing.push_back(prefix + kTruths.front());
  }
  return missing;
}

/// The queries that count: PREFIX_qIdx.npy picks them from the list of names.
std::vector<std::string> pick_queries(Loading& loading,
                                      std::vector<std::string> names,
                                      const fs::path& picks) {
  if (!fs::exists(picks)) return names;
  std::vector<std::string> kept;
  for (const auto& row : read_positive_lists(picks).lists) {
    const bool inside =
        row.size() == 1 && row[0] >= 0 && row[0] < static_cast<std::int64_t>(names.size());
    // The lists of positives count the picks: none may be left out.
    if (!inside) {
      throw read_error(
          picks, fmt::format("positions in the list of {} queries were expected", names.size()));
    }
    kept.push_back(names[static_cast<std::size_t>(row[0])]);
  }
  if (kept.size() != names.size()) {
    loading.notes.push_back(fmt::format(
        "{}: {} of {} listed queries count", picks.string(), kept.size(), names.size()));
  }
  return kept;
}

Positions name_positions(const std::vector<fs::path>& files) {
  Positions positions;
  for (const fs::path& file : files) positions.push_back(parse_position(file));
  return positions;
}

void load_lists(Loading& loading, const std::string& wanted) {
  const std::string prefix = prefix_of(loading, wanted);
  const fs::path places = first_of(loading, prefix, kDatabaseLists);
  const fs::path queries = first_of(loading, prefix, kQueryLists);
  const fs::path truth = first_of(loading, prefix, kTruths);
  std::vector<std::string> names = read_npy_text(queries).values;
  if (truth.filename().string().ends_with("_pIdx.npy")) {
    names = pick_queries(loading, std::move(names), loading.folder / (prefix + "_qIdx.npy"));
  }
  const auto roots = picture_roots(loading, {"images", "train_val"});
  Dataset& data = loading.dataset;
  data.database = find_listed(loading, read_npy_text(places).values, roots, "database pictures");
  data.queries = find_listed(loading, names, roots, "queries");
  if (!truth.empty()) {
    settle_positives(loading, read_positive_lists(truth).lists, truth);
    return;
  }
  const double published = loading.info.positive_dist_threshold;
  settle_positions(loading,
                   name_positions(data.database),
                   name_positions(data.queries),
                   loading.radius(published > 0 ? published : kStreet));
}

const std::vector<std::string> kNpzFolders{"", "dataset_gt_files"};
const std::vector<std::string> kNameFolders{"", "dataset_imagenames"};

/// The archive and the two lists; empty where there is none.
struct NpzFiles {
  fs::path archive, places, queries;

  NpzFiles(const Loading& loading, const std::string& prefix) {
    const auto only = [&](const std::vector<std::string>& folders, const std::string& ending) {
      std::vector<fs::path> found = files_ending(loading, folders, ending);
      std::erase_if(found, [&](const fs::path& file) {
        return !file.filename().string().starts_with(prefix);
      });
      return found.empty() ? fs::path() : found[0];
    };
    const std::string& split = loading.options.split;
    archive = only(kNpzFolders, split.empty() ? ".npz" : "_" + split + ".npz");
    places = only(kNameFolders, "_imageNames_index.txt");
    queries = only(kNameFolders, "_imageNames_query.txt");
  }
};

/// Rows of east and north.
Positions npz_positions(const TensorFile& archive, const char* name, std::size_t pictures) {
  const Tensor& table = archive.at(name);
  if (table.shape.size() != 2 || table.shape[1] != 2) {
    throw read_error(archive.path(), fmt::format("{} of two columns was expected", name));
  }
  const std::vector<double> values = table.doubles();
  Positions positions(pictures);
  for (std::size_t i = 0; i < std::min(pictures, values.size() / 2); ++i) {
    positions[i] = Position{values[2 * i], values[2 * i + 1]};
  }
  return positions;
}

void load_npz(Loading& loading, const std::string& prefix) {
  const NpzFiles files(loading, prefix);
  const auto roots = picture_roots(loading, {"images"});
  Dataset& data = loading.dataset;
  data.database = find_listed(loading, read_lines(files.places), roots, "database pictures");
  data.queries = find_listed(loading, read_lines(files.queries), roots, "queries");
  const TensorFile archive = TensorFile::open(files.archive);
  for (const auto& [name, listed] :
       {std::pair{"utmDb", data.database.size()}, std::pair{"utmQ", data.queries.size()}}) {
    const std::size_t rows = static_cast<std::size_t>(archive.at(name).size()) / 2;
    if (rows != listed) {
      loading.problems.push_back(fmt::format(
          "{}: {} rows in {} for {} names", files.archive.string(), rows, name, listed));
    }
  }
  double radius = kStreet;
  if (archive.contains("posDistThr") && archive.at("posDistThr").size() == 1) {
    radius = archive.at("posDistThr").doubles()[0];
  }
  settle_positions(loading,
                   npz_positions(archive, "utmDb", data.database.size()),
                   npz_positions(archive, "utmQ", data.queries.size()),
                   loading.radius(radius));
}

}  // namespace

Form list_form(std::string prefix) {
  const std::string shown = prefix.empty() ? "NAME" : prefix;
  return {fmt::format("{0}_dbImages.npy {0}_qImages.npy {0}_gt.npy (or {0}_gt_25m.npy, or "
                      "{0}_qIdx.npy and {0}_pIdx.npy) and the pictures they name",
                      shown),
          [prefix](const Loading& loading) { return missing_lists(loading, prefix); },
          [prefix](Loading& loading) { load_lists(loading, prefix); }};
}

Form npz_form(std::string prefix) {
  const std::string shown = prefix.empty() ? "NAME" : prefix;
  return {fmt::format("{0}_{{split}}.npz {0}_imageNames_index.txt {0}_imageNames_query.txt and the "
                      "pictures they name",
                      shown),
          [prefix, shown](const Loading& loading) {
            const NpzFiles files(loading, prefix);
            std::vector<std::string> missing;
            if (files.archive.empty()) missing.push_back(loading.fill(shown + "_{split}.npz"));
            if (files.places.empty()) missing.push_back(shown + "_imageNames_index.txt");
            if (files.queries.empty()) missing.push_back(shown + "_imageNames_query.txt");
            return missing;
          },
          [prefix](Loading& loading) { load_npz(loading, prefix); }};
}

}  // namespace ria
