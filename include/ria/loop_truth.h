// SPDX-License-Identifier: MIT
// How good said loops are, where it is known which there are.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "ria/api.h"
#include "ria/statistics.h"

namespace ria {

/// Which earlier pictures of a drive show the same place.
struct LoopTruth {
  std::vector<std::string> images;      ///< names, in driving order
  std::vector<std::vector<int>> loops;  ///< per picture, sorted earlier ones; empty: none
};

/// {"images": [..], "loops": [[..], ..]}. Throws std::runtime_error naming the file.
RIA_API LoopTruth load_loop_truth(const std::filesystem::path& json_file);

/// What was said of one picture of a drive.
struct SaidLoop {
  int frame = -1;          ///< position in the truth
  int place = -1;          ///< the earlier picture that fits best, likewise; -1: none
  double probability = 0;  ///< that it is the same place
};

/// When a said loop counts as right.
struct RIA_API LoopMeasureOptions {
  int tolerance = 1;      ///< frames by which the earlier picture may be beside a true one
  int recent = 50;        ///< frames; a picture counts if it has a true loop older than that
  double decision = 0.5;  ///< probability from which on it is a loop

  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// Said against found: the loops whose probability lies in one tenth.
struct ReliabilityBin {
  int count = 0;
  int right = 0;
  double mean_probability = 0;
};

/// How good the said loops of a drive are.
struct RIA_API LoopMeasures {
  double max_recall_at_full_precision = 0;  ///< largest recall before the first wrong loop
  double recall_at_99_precision = 0;        ///< largest recall at a precision of at least 0.99
  double average_precision = 0;
  double precision = 0;                     ///< at the decision; 1 if nothing was said
  double recall = 0;                        ///< at the decision
  int said = 0;                             ///< loops at the decision
  int right = 0;                            ///< of these
  int to_find = 0;                          ///< pictures that have a true loop
  std::vector<PrecisionRecallPoint> curve;  ///< by falling probability
  std::array<ReliabilityBin, 10> reliability;
};

/// Whether an earlier picture is a true loop of a frame, or beside one.
RIA_API bool is_true_loop(const LoopTruth& truth, int frame, int place, int tolerance);

/// Compares what was said with the truth. Throws std::invalid_argument naming a field of the
/// options.
RIA_API LoopMeasures measure_loops(const LoopTruth& truth,
                                   const std::vector<SaidLoop>& said,
                                   const LoopMeasureOptions& options = {});

}  // namespace ria
