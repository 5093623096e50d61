// SPDX-License-Identifier: MIT
// The forms datasets are published in. Names may hold {split} and {query_set}.
#pragma once

#include <string>
#include <vector>

#include "dataset/loading.h"

namespace ria {

/// Two folders of pictures and a .npy with a list of places for each query.
struct SequenceFiles {
  std::string database;
  std::string queries;
  std::string truth;
  int skip_rows = 0;             ///< of the truth, before the first query's
  int frame_tolerance = 0;       ///< stands in for a truth that is missing; 0: it must be there
  bool runs_over = false;        ///< the published lists point past the last place
  std::string distractors = {};  ///< folder of more places that are never right; may be missing
};
Form sequence_form(SequenceFiles files);

/// db_images and q_images with rows [0, database_end) and [queries_begin, queries_end) of
/// pose_topic_list.npy, metres.
struct PoseRows {
  std::size_t database_end;
  std::size_t queries_begin;
  std::size_t queries_end;
};
Form pose_form(PoseRows rows);

/// reference_images and query_images with gt_matches.csv, whose first five columns count.
Form match_table_form();

/// Baidu's mall: pictures and a .camera file for each.
Form camera_form();

/// Folders `database` and `queries` (or {query_set}) with @east@north@ names, below images/{split},
/// processed/{split}, {split} or the set's folder itself.
Form at_named_form();

/// NumPy lists of names PREFIX_dbImages.npy and PREFIX_qImages.npy with the positives' lists
/// PREFIX_gt.npy, or @east@north@ names. An empty prefix takes the one that is there.
Form list_form(std::string prefix);

/// MATLAB's dbStruct with names and positions. An empty file name takes the .mat that is there.
Form db_struct_form(std::string file);

/// The same of Oxford RobotCar as AnyLoc publishes it.
Form oxford_form();

/// An archive with utmQ and utmDb, and text lists of names.
Form npz_form(std::string prefix);

/// gt.json.
Form json_form();

/// Metres within which an answer is right, the field's convention for streets.
inline constexpr double kStreet = 25;

/// The paper's rows of the table.
std::vector<DatasetEntry> paper_entries();

/// The names of these that are neither file nor folder in the set's folder.
std::vector<std::string> not_there(const Loading& loading, const std::vector<std::string>& names);

/// The first of some folders below the set's that holds the file, empty path if none.
std::filesystem::path find_file(const Loading& loading,
                                const std::vector<std::string>& folders,
                                const std::string& name);

/// The files in these folders whose names end so, sorted.
std::vector<std::filesystem::path> files_ending(const Loading& loading,
                                                const std::vector<std::string>& folders,
                                                const std::string& ending);

}  // namespace ria
