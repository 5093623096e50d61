// SPDX-License-Identifier: MIT
// A benchmark on disk: pictures of known places, queries, and which answers are right.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "ria/api.h"

namespace ria {

/// The pictures of a benchmark, in the order that positions count them.
struct Dataset {
  std::string name;
  std::vector<std::filesystem::path> database;
  std::vector<std::filesystem::path> queries;
  /// Per query, sorted database positions; no lists at all: the right answers are not known.
  std::vector<std::vector<int>> positives;
  /// Metres east and north; one for each picture, or none at all.
  std::vector<std::optional<std::array<double, 2>>> database_positions;
  std::vector<std::optional<std::array<double, 2>>> query_positions;
  /// What was odd about the files and how it was settled, a line each: missing pictures, another
  /// size than published, positives past the end that were left out.
  std::vector<std::string> remarks;
};

/// East and north in metres from an `@east@north@...` file name; nothing if it is not one.
RIA_API std::optional<std::array<double, 2>> parse_position(const std::filesystem::path& file);

/// Positives are the database pictures at most positive_dist_threshold metres away. Beside a
/// folder F, a file F_images_paths.txt may list its pictures. Throws std::runtime_error for a name
/// without a position.
RIA_API Dataset load_at_named(const std::filesystem::path& database_folder,
                              const std::filesystem::path& queries_folder,
                              double positive_dist_threshold = 25);

/// Two folders of pictures with any names, whose right answers are not known. Beside a folder F, a
/// file F_images_paths.txt may list its pictures.
RIA_API Dataset load_unlabelled(const std::filesystem::path& database_folder,
                                const std::filesystem::path& queries_folder);

/// {"queries": [..], "database": [..], "positives": [[..], ..]} with paths relative to the file.
RIA_API Dataset load_ground_truth(const std::filesystem::path& json_file);

/// One way to use a named dataset.
struct DatasetPart {
  std::string split;      ///< "test", "val", "train", or empty
  std::string query_set;  ///< folder of the queries where there are several, or empty
  int database = 0;       ///< pictures published; 0: not fixed
  int queries = 0;
};

/// A dataset that load_dataset() knows by name.
struct DatasetInfo {
  std::string name = {};                  ///< what --dataset takes
  std::string title = {};                 ///< as papers call it
  std::string tests = {};                 ///< what differs between the places and the queries
  std::string source = {};                ///< who publishes it
  std::vector<std::string> folders = {};  ///< its folder's usual names inside the data folder
  std::vector<std::string> layouts =
      {};                               ///< files expected in that folder; one for each form known
  std::string positives = {};           ///< where the right answers come from
  std::vector<DatasetPart> parts = {};  ///< the first is the default; the published forms of one
                                        ///< part may differ in size: then it is listed twice
  double positive_dist_threshold = 0;   ///< metres; 0: a file says or lists it
  int frame_tolerance = 0;              ///< frames; 0: not defined by frames
  int height = 0;                       ///< pixels the paper's protocol resizes to; 0: native size
  int width = 0;
};

/// All of them, the paper's first.
RIA_API const std::vector<DatasetInfo>& datasets();
/// Throws std::invalid_argument that lists the names.
RIA_API const DatasetInfo& find_dataset(const std::string& name);

/// How a named dataset is read. Empty or 0 always means: as published.
struct RIA_API DatasetOptions {
  double positive_dist_threshold = 0;   ///< metres within which an answer is right
  std::optional<int> frame_tolerance;   ///< frames to either side, for sets of aligned sequences
  double max_angle = 0;                 ///< degrees, baidu_mall: mean difference of Euler angles
  std::string split;                    ///< a split of DatasetInfo::parts
  std::string query_set;                ///< a query_set of DatasetInfo::parts
  std::filesystem::path images_folder;  ///< where listed pictures are, if not beside the lists

  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// Reads a named dataset. `data_folder` is the set's folder or the one that holds it. Pictures are
/// in natural order ("img2" before "img10") unless a file lists them. What is odd ends up in
/// Dataset::remarks; throws std::runtime_error only if no part of the set can be used and
/// std::invalid_argument for an option that has no meaning for it.
RIA_API Dataset load_dataset(const std::string& name,
                             const std::filesystem::path& data_folder,
                             const DatasetOptions& options = {});

/// What is wrong with a copy of a dataset, file by file.
struct RIA_API DatasetCheck {
  std::string name;
  std::filesystem::path folder;  ///< where the set was found
  bool usable = false;           ///< load_dataset() succeeds
  int database = 0;              ///< pictures that were found or listed
  int queries = 0;
  std::vector<std::string> missing;     ///< files and folders that are not there
  std::vector<std::string> problems;    ///< counts, positives and tables that are wrong
  std::vector<std::string> notes;       ///< odd, but so in the published files
  std::vector<std::string> unreadable;  ///< pictures that cannot be decoded, and why
  std::vector<std::vector<std::filesystem::path>> duplicates;  ///< pictures of the same bytes

  /// Usable, and nothing is wrong.
  bool clean() const;
};

/// How closely check_dataset() looks.
struct DatasetCheckOptions {
  DatasetOptions dataset;
  bool pictures = true;                               ///< decode and hash every picture
  int num_threads = 0;                                ///< 0: all cores
  std::function<void(int done, int total)> progress;  ///< called from one thread at a time
  std::stop_token stop;  ///< asked before each picture; the rest stays unchecked
};

/// Throws only for an unknown name or option; a folder that is no such dataset is a result.
RIA_API DatasetCheck check_dataset(const std::string& name,
                                   const std::filesystem::path& data_folder,
                                   const DatasetCheckOptions& options = {});

}  // namespace ria
