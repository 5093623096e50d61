// SPDX-License-Identifier: MIT
// The search structure of a large map.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>

#include "ria/api.h"
#include "ria/map.h"

namespace ria {

/// Which structure a map gets, and what making it may take.
struct RIA_API OptimiseOptions {
  /// "exact": no structure, every descriptor is compared; "ivfpq": lists of places near each other,
  /// each place as a code; "hnsw": a graph of places near each other, five times as large; "auto":
  /// exact for a few ten thousand places, ivfpq for more where there is FAISS to make it
  std::string search = "auto";
  /// Bytes that making the structure, and searching it, may take in memory.
  std::int64_t max_memory = 2'000'000'000;
  std::uint64_t seed = 1;  ///< of the sample that it is trained with
  /// Called as places are coded, and then linked for hnsw, which counts again.
  std::function<void(int done, int total)> progress;
  std::stop_token stop;

  /// Throws std::invalid_argument naming the field.
  void validate() const;
};

/// Makes the search structure of a map, MAP.search, which takes the place of an older one when it
/// is whole. From then on the map is searched by it, but for places that come later. What was done
/// when a run was interrupted is in MAP.search.part and the next run goes on from there. Throws
/// std::runtime_error naming the file, and where FAISS is needed and missing, what to install.
RIA_API SearchInfo optimise_map(const std::filesystem::path& map,
                                const OptimiseOptions& options = {});

/// Throws what optimise_map() would throw for want of a library.
RIA_API void check_search(const std::string& search);

}  // namespace ria
