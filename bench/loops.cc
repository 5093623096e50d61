// SPDX-License-Identifier: MIT
#include "loops.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>

#include "made_places.h"
#include "ria/loop.h"
#include "ria/optimise.h"

namespace ria::bench {

namespace {

namespace fs = std::filesystem;

constexpr int kStreet = 200;  // places that look like what the camera sees, with all their patches
constexpr int kTogether = 4096;
constexpr int kApproximate = 500'000;     // places that are searched by a structure
constexpr int kRows = 23, kColumns = 30;  // of 480x360 pixels
constexpr int kPatch = 128;               // values of one, RootSIFT's

void to_unit(std::span<float> values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  for (float& value : values) value /= static_cast<float>(std::sqrt(squares));
}

/// What is kept of random patches on a grid.
PackedLocalFeatures some_patches(int rows, int columns, unsigned seed) {
  static const std::unique_ptr<Reranker> reranker = make_patch_reranker(kPatch);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  PatchFeatures patches{Matrix(rows * columns, kPatch), rows, columns, {}};
  for (float& value : patches.patches.values()) value = normal(random);
  return pack(reranker->extract(patches));
}

/// What most of the street looks like.
Descriptor some_descriptor(int dim, unsigned seed) {
  std::minstd_rand random(seed);
  std::minstd_rand common(1);
  Descriptor made(dim);
  for (float& value : made) {
    const float shared = static_cast<float>(common() % 2001) / 1000 - 1;
    value = static_cast<float>(random() % 2001) / 1000 - 1 + shared;
  }
  to_unit(made);
  return made;
}

DescribedPicture some_picture(int dim, int i) {
  const auto seed = static_cast<unsigned>(i) + 2;
  return {some_descriptor(dim, seed), some_patches(kRows, kColumns, seed)};
}

void build(const fs::path& file, const MapHeader& header, int places) {
  const MadePlaces made;
  const PackedLocalFeatures little = some_patches(1, 1, 1);
  Map::build(file, header, Storage::kHalf, [&](Map& map) {
    for (int first = 0; first < places; first += kTogether) {
      const int count = std::min(kTogether, places - first);
      Matrix rows = made.places(first, count);
      std::vector<Place> names(static_cast<std::size_t>(count));
      std::vector<PackedLocalFeatures> locals(static_cast<std::size_t>(count), little);
      for (int i = 0; i < count; ++i) {
        if (first + i < kStreet) {
          DescribedPicture one = some_picture(header.dim, first + i);
          std::ranges::copy(one.descriptor, rows.row(i).begin());
          locals[i] = std::move(one.local);
        }
        names[i].name = fmt::format("{:08}.jpg", first + i);
      }
      map.add(rows, names, locals);
    }
  });
}

}  // namespace

void loops(int places, int rounds, const Put& put) {
  const fs::path file = fs::temp_directory_path() / fmt::format("ria_loops_{}.ria", ::getpid());
  Recognizer recognizer("rootsift-ria:d=64,rerank=patches");
  const int dim = recognizer.dim();
  build(file, recognizer.header(), places);
  const bool exact = places < kApproximate;
  if (!exact) {
    OptimiseOptions options;
    options.search = "ivfpq";
    optimise_map(file, options);
  }
  {
    LoopCloser closer(std::move(recognizer), Map::open(file, Access::kWrite));
    double best = INFINITY;
    LoopTime stages;
    for (int round = 0; round < 3 * rounds; ++round) {
      const LoopTime ms = closer.add(some_picture(dim, places + round)).ms;
      if (ms.search + ms.verify + ms.keep >= best) continue;
      best = ms.search + ms.verify + ms.keep;
      stages = ms;
    }
    const double bytes = static_cast<double>(places) * dim * 2;
    put(places == 100'000     ? "loop_ms_at_100k"
        : places == 1'000'000 ? "loop_ms_at_1m"
                              : fmt::format("loop_ms_at_{}", places),
        best);
    put("loop_search_ms", stages.search);
    put("loop_verify_ms", stages.verify);
    put("loop_keep_ms", stages.keep);
    if (exact) {
      const double bandwidth = memory_bandwidth(rounds);
      put("loop_search_share_of_bandwidth", bytes / (stages.search / 1e3) / bandwidth);
      put("loop_over_one_read", best / 1e3 * bandwidth / bytes);
    }
  }
  fs::remove(file);
  fs::remove(file.string() + ".search");
}

}  // namespace ria::bench
