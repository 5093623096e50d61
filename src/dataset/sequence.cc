// SPDX-License-Identifier: MIT
// Sets whose places are counted in the order of their pictures: sequences, poses, match tables.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <stdexcept>

#include "archive/bytes.h"
#include "dataset/forms.h"
#include "dataset/pictures.h"
#include "dataset/positives.h"
#include "dataset/tables.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

void load_pictures(Loading& loading, const std::string& database, const std::string& queries) {
  loading.dataset.database = pictures_in(loading.folder / loading.fill(database));
  loading.dataset.queries = pictures_in(loading.folder / loading.fill(queries));
}

void take_frames(Loading& loading, int tolerance) {
  Dataset& data = loading.dataset;
  data.positives = near_frames(data.queries.size(), data.database.size(), tolerance);
}

/// Two publishers give one set different tolerances, and recalls with it.
void compare_tolerance(Loading& loading,
                       const PositiveLists& lists,
                       const SequenceFiles& files,
                       const fs::path& truth) {
  std::int64_t widest = 0;
  for (std::size_t q = 0; q < lists.size(); ++q) {
    for (const std::int64_t place : lists[q]) {
      widest = std::max(widest, std::abs(place - static_cast<std::int64_t>(q)));
    }
  }
  if (widest == files.frame_tolerance) return;
  loading.notes.push_back(fmt::format("{}: places up to {} frames away count, {} is usual",
                                      truth.string(),
                                      widest,
                                      files.frame_tolerance));
}

void read_truth(Loading& loading, const SequenceFiles& files, const fs::path& truth) {
  ListedPositives found = read_positive_lists(truth);
  const std::size_t skip = std::min<std::size_t>(files.skip_rows, found.lists.size());
  found.lists.erase(found.lists.begin(), found.lists.begin() + static_cast<std::ptrdiff_t>(skip));
  std::vector<std::int64_t> rows(found.query.size());
  std::iota(rows.begin(), rows.end(), 0);
  if (skip == 0 && found.query != rows) {
    loading.problems.push_back(
        fmt::format("{}: the first column does not count the queries from 0; the rows were taken "
                    "in their order",
                    truth.string()));
  }
  if (files.frame_tolerance > 0) compare_tolerance(loading, found.lists, files, truth);
  settle_positives(loading, found.lists, truth, files.runs_over);
}

/// Places that are never right come after the others, so that the lists' positions hold.
void append_distractors(Loading& loading, const std::string& name) {
  std::error_code ignored;
  if (!fs::is_directory(loading.folder / name, ignored)) {
    loading.problems.push_back(fmt::format("{}: the distractors are missing", name));
    return;
  }
  const std::vector<fs::path> more = pictures_in(loading.folder / name);
  loading.dataset.database.insert(loading.dataset.database.end(), more.begin(), more.end());
}

void load_sequence(Loading& loading, const SequenceFiles& files) {
  load_pictures(loading, files.database, files.queries);
  const fs::path truth = loading.folder / files.truth;
  const std::optional<int> tolerance =
      files.frame_tolerance > 0 ? loading.tolerance() : std::nullopt;
  if (tolerance) {
    take_frames(loading, *tolerance);
  } else if (fs::exists(truth)) {
    read_truth(loading, files, truth);
  } else {
    loading.problems.push_back(fmt::format("{} is missing; places at most {} frames away count",
                                           truth.string(),
                                           files.frame_tolerance));
    take_frames(loading, files.frame_tolerance);
  }
  if (!files.distractors.empty()) append_distractors(loading, files.distractors);
}

Positions pose_slice(Loading& loading,
                     const std::vector<std::vector<double>>& poses,
                     std::size_t begin,
                     std::size_t end,
                     std::size_t pictures,
                     const char* what) {
  if (pictures != end - begin) {
    loading.problems.push_back(
        fmt::format("{} {} for {} published poses", pictures, what, end - begin));
  }
  Positions positions(pictures);
  for (std::size_t i = 0; i < pictures && begin + i < std::min(end, poses.size()); ++i) {
    const std::vector<double>& pose = poses[begin + i];
    if (pose.size() >= 2) positions[i] = Position{pose[0], pose[1]};
  }
  return positions;
}

void load_poses(Loading& loading, const PoseRows& rows) {
  load_pictures(loading, "db_images", "q_images");
  const fs::path file = loading.folder / "pose_topic_list.npy";
  const auto poses = read_rows(file);
  if (poses.size() < rows.queries_end) {
    loading.problems.push_back(fmt::format(
        "{}: {} poses, {} were expected", file.string(), poses.size(), rows.queries_end));
  }
  Positions database = pose_slice(
      loading, poses, 0, rows.database_end, loading.dataset.database.size(), "database pictures");
  Positions queries = pose_slice(loading,
                                 poses,
                                 rows.queries_begin,
                                 rows.queries_end,
                                 loading.dataset.queries.size(),
                                 "queries");
  settle_positions(loading,
                   std::move(database),
                   std::move(queries),
                   loading.radius(loading.info.positive_dist_threshold));
}

/// The positions of a table name,easting,northing for pictures of those names.
Positions table_positions(Loading& loading,
                          const std::string& name,
                          const std::vector<fs::path>& pictures) {
  const fs::path file = loading.folder / name;
  Positions positions(pictures.size());
  if (!fs::exists(file)) return {};
  auto table = read_csv(file);
  std::map<std::string, Position> by_name;
  const std::vector<std::string>& names = table["name"];
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (table["easting"].size() <= i || table["northing"].size() <= i) continue;
    const std::string where = fmt::format("{}, row {}", file.string(), i + 1);
    by_name[fs::path(names[i]).stem().string()] = {to_number(table["easting"][i], where),
                                                   to_number(table["northing"][i], where)};
  }
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const auto found = by_name.find(pictures[i].stem().string());
    if (found != by_name.end()) positions[i] = found->second;
  }
  return positions;
}

void load_match_table(Loading& loading) {
  constexpr int kCounted = 5;  // the table has more; these are the right ones
  load_pictures(loading, "reference_images", "query_images");
  const fs::path file = loading.folder / "gt_matches.csv";
  auto table = read_csv(file);
  const std::size_t rows = table["query_ind"].size();
  PositiveLists lists(rows);
  bool in_order = true;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::string where = fmt::format("{}, row {}", file.string(), row + 1);
    in_order &= to_number(table["query_ind"][row], where) == static_cast<double>(row);
    for (int i = 1; i <= kCounted; ++i) {
      const auto& column = table[fmt::format("top_{}_ref_ind", i)];
      if (row >= column.size()) {
        throw read_error(file, fmt::format("a column top_{}_ref_ind was expected", i));
      }
      const double place = to_number(column[row], where);
      lists[row].push_back(place >= 0 && place < 1e9 ? static_cast<std::int64_t>(place) : -1);
    }
  }
  if (!in_order) {
    loading.problems.push_back(
        fmt::format("{}: query_ind does not count the queries from 0; the rows were taken in their "
                    "order",
                    file.string()));
  }
  settle_positives(loading, lists, file);
  Dataset& data = loading.dataset;
  data.database_positions = table_positions(loading, "reference.csv", data.database);
  data.query_positions = table_positions(loading, "query.csv", data.queries);
}

}  // namespace

Form sequence_form(SequenceFiles files) {
  Form form;
  form.layout = fmt::format("{}/ {}/ {}", files.database, files.queries, files.truth);
  if (!files.distractors.empty()) form.layout += " " + files.distractors + "/";
  form.missing = [files](const Loading& loading) {
    std::vector<std::string> needed{files.database, files.queries};
    if (files.frame_tolerance == 0) needed.push_back(files.truth);
    return not_there(loading, needed);
  };
  form.load = [files](Loading& loading) { load_sequence(loading, files); };
  return form;
}

Form pose_form(PoseRows rows) {
  const std::vector<std::string> needed{"db_images", "q_images", "pose_topic_list.npy"};
  return {"db_images/ q_images/ pose_topic_list.npy",
          [needed](const Loading& loading) { return not_there(loading, needed); },
          [rows](Loading& loading) { load_poses(loading, rows); }};
}

Form match_table_form() {
  const std::vector<std::string> needed{"reference_images", "query_images", "gt_matches.csv"};
  return {"reference_images/ query_images/ gt_matches.csv [query.csv reference.csv]",
          [needed](const Loading& loading) { return not_there(loading, needed); },
          load_match_table};
}

}  // namespace ria
