// SPDX-License-Identifier: MIT
#include "loops.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>

#include "ria/loop.h"

namespace ria::bench {

namespace {

namespace fs = std::filesystem;

constexpr int kStreet = 200;  // places that look like what the camera sees, with all their patches
constexpr int kTogether = 4096;
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

/// Anything, or what most of the street looks like.
Descriptor some_descriptor(int dim, unsigned seed, bool street) {
  std::minstd_rand random(seed);
  std::minstd_rand common(1);
  Descriptor made(dim);
  for (float& value : made) {
    const float shared = static_cast<float>(common() % 2001) / 1000 - 1;
    value = static_cast<float>(random() % 2001) / 1000 - 1 + (street ? shared : 0);
  }
  to_unit(made);
  return made;
}

DescribedPicture some_picture(int dim, int i, bool street) {
  const auto seed = static_cast<unsigned>(i) + 2;
  return {some_descriptor(dim, seed, street),
          street ? some_patches(kRows, kColumns, seed) : some_patches(1, 1, seed)};
}

void build(const fs::path& file, const MapHeader& header, int places) {
  Map::build(file, header, Storage::kHalf, [&](Map& map) {
    for (int first = 0; first < places; first += kTogether) {
      const int count = std::min(kTogether, places - first);
      Matrix rows(count, header.dim);
      std::vector<Place> names(static_cast<std::size_t>(count));
      std::vector<PackedLocalFeatures> locals;
      for (int i = 0; i < count; ++i) {
        DescribedPicture one = some_picture(header.dim, first + i, first + i < kStreet);
        std::ranges::copy(one.descriptor, rows.row(i).begin());
        locals.push_back(std::move(one.local));
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
  {
    LoopCloser closer(std::move(recognizer), Map::open(file, Access::kWrite));
    double best = INFINITY;
    LoopTime stages;
    for (int round = 0; round < 3 * rounds; ++round) {
      const LoopTime ms = closer.add(some_picture(dim, places + round, true)).ms;
      if (ms.search + ms.verify + ms.keep >= best) continue;
      best = ms.search + ms.verify + ms.keep;
      stages = ms;
    }
    const double bytes = static_cast<double>(places) * dim * 2;
    put(places == 100'000 ? "loop_ms_at_100k" : fmt::format("loop_ms_at_{}", places), best);
    put("loop_search_ms", stages.search);
    put("loop_verify_ms", stages.verify);
    put("loop_keep_ms", stages.keep);
    const double bandwidth = memory_bandwidth(rounds);
    put("loop_search_share_of_bandwidth", bytes / (stages.search / 1e3) / bandwidth);
    put("loop_over_one_read", best / 1e3 * bandwidth / bytes);
  }
  fs::remove(file);
}

}  // namespace ria::bench
