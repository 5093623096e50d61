// SPDX-License-Identifier: MIT
#include "approximate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "made_places.h"
#include "process_memory.h"
#include "ria/optimise.h"
#include "timing.h"

namespace ria::bench {

namespace {

namespace fs = std::filesystem;

constexpr int kTogether = 8192;
constexpr int kLookedAt = 500;         // places that contrast is measured among
constexpr int kMostExact = 2'000'000;  // descriptors that are read into memory
constexpr int kMostGraph = 400'000;    // beyond, a graph takes longer than all the rest

/// The map, written as the places are made; what exact search finds in each part of it.
std::vector<Match> build(const fs::path& file,
                         const MadePlaces& made,
                         int places,
                         const Matrix& queries) {
  const MapHeader header{"made-up", "{}", "", "", made.dim()};
  std::vector<Match> right(static_cast<std::size_t>(queries.rows()), Match{-1, -2});
  Map::build(file, header, Storage::kInt8, [&](Map& map) {
    for (int first = 0; first < places; first += kTogether) {
      const int count = std::min(kTogether, places - first);
      const Matrix rows = made.places(first, count);
      const std::vector<Place> none(static_cast<std::size_t>(count));
      map.add(rows, none);
      Map part(header, Storage::kInt8);
      part.add(rows, none);
      const auto found = part.search(queries, 1);
      for (std::size_t q = 0; q < found.size(); ++q) {
        if (found[q][0].score > right[q].score) {
          right[q] = {first + found[q][0].place, found[q][0].score};
        }
      }
    }
  });
  return right;
}

void put_contrast(const std::string& name, const Contrast& contrast, const Put& put) {
  put("contrast_" + name + "_nearest_over_mean", contrast.nearest_over_mean);
  if (contrast.positive > 0) put("contrast_" + name + "_positive_cosine", contrast.positive);
  put("contrast_" + name + "_mean_cosine", contrast.mean);
}

/// Milliseconds a query, one at a time.
double ms_a_query(const Map& map, const Matrix& queries, std::vector<Match>& found) {
  found.clear();
  const double spent = seconds([&] {
    for (int q = 0; q < queries.rows(); ++q) {
      const auto row = queries.row(q);
      found.push_back(map.search(Descriptor(row.begin(), row.end()), 1).at(0));
    }
  });
  return spent * 1e3 / queries.rows();
}

/// The map by one kind of structure.
void by_structure(const std::string& kind,
                  const fs::path& file,
                  const Matrix& queries,
                  const std::vector<Match>& right,
                  double exact_ms,
                  int rounds,
                  const Put& put) {
  const auto put_one = [&](const char* name, double value) {
    put("search_" + kind + "_" + name, value);
  };
  OptimiseOptions options;
  options.search = kind;
  SearchInfo info;
  put_one("optimise_s", seconds([&] { info = optimise_map(file, options); }));
  put_one("optimise_peak_bytes", process_memory("VmHWM:"));  // of all kinds so far
  put_one("bytes_a_place", static_cast<double>(info.bytes) / info.places);
  put_one("recall_held_out", info.recall);
  if (info.ef > 0) put_one("ef", info.ef);
  if (info.lists > 0) put_one("lists", info.lists);
  if (info.probes > 0) put_one("probes", info.probes);
  put_one("refined", info.refined);
  const double before = process_memory("VmRSS:");
  std::optional<Map> map;
  put_one("open_s", seconds([&] {
            map.emplace(Map::open(file));
            map->search(Descriptor(queries.row(0).begin(), queries.row(0).end()), 1);
          }));
  std::vector<Match> found;
  double best = INFINITY;
  for (int round = 0; round < std::max(2, rounds / 3); ++round) {
    best = std::min(best, ms_a_query(*map, queries, found));
  }
  put_one("resident_bytes", process_memory("VmRSS:") - before);
  int same = 0;
  for (std::size_t q = 0; q < found.size(); ++q) same += found[q].score >= right[q].score;
  put_one("ms", best);
  put_one("recall_at_1", static_cast<double>(same) / queries.rows());
  if (exact_ms > 0) put_one("times_faster", exact_ms / best);
}

}  // namespace

void approximate(int places, int rounds, const Put& put) {
  const MadePlaces made;
  put("search_places", places);
  put_contrast("street", made.street_contrast(), put);
  const std::vector<int> seen = asked_places(places), near = asked_places(kLookedAt);
  std::vector<std::vector<int>> positives;
  for (const int place : near) positives.push_back({place});
  put_contrast("made", contrast_of(made.places(0, kLookedAt), made.queries(near), positives), put);
  const Matrix queries = made.queries(seen);
  const fs::path file = fs::temp_directory_path() / fmt::format("ria_places_{}.ria", ::getpid());
  std::vector<Match> right;
  put("search_map_build_s", seconds([&] { right = build(file, made, places, queries); }));
  double exact_ms = 0;
  if (places <= kMostExact) {
    const Map map = Map::open(file);
    map.search(queries, 1);
    const auto one = queries.row(0);
    exact_ms =
        best_of(rounds, {[&] { map.search(Descriptor(one.begin(), one.end()), 1); }})[0] * 1e3;
    put("search_exact_int8_ms_at_" + std::to_string(places), exact_ms);
  }
  int there = 0;
  for (std::size_t q = 0; q < right.size(); ++q) there += right[q].place == seen[q];
  put("search_exact_finds_the_place", static_cast<double>(there) / queries.rows());
  for (const std::string kind : {"ivfpq", "hnsw"}) {
    if (kind == "hnsw" && places > kMostGraph) continue;
    by_structure(kind, file, queries, right, exact_ms, rounds, put);
  }
  fs::remove(file);
  fs::remove(file.string() + ".search");
}

}  // namespace ria::bench
