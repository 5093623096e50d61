// SPDX-License-Identifier: MIT
// What a picture was compared with, and what that said.
#pragma once

#include <vector>

#include "ria/rerank.h"

namespace ria {

/// A place that a picture was compared with.
struct Candidate {
  int place = -1;
  double cosine = 0;
  Agreement agreement;
  Likeness likeness;
};

/// One picture against the map.
struct Sighting {
  std::vector<Candidate> candidates;
  std::vector<Candidate> passed;  ///< a while ago: rivals, never answers
  double cosine_mean = 0;         ///< over all places that may be answers
  double cosine_deviation = 0;    ///<
  double step = 0;                ///< mean agreement of successive pictures; 0: not known
};

}  // namespace ria
