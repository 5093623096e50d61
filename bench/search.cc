// SPDX-License-Identifier: MIT
#include "search.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include "process_memory.h"
#include "ria/map.h"
#include "timing.h"
#include "util/aligned.h"
#include "util/parallel.h"

namespace ria::bench {

namespace {

namespace fs = std::filesystem;

constexpr int kDim = 2080;
constexpr int kTogether = 4096;

/// Unit vectors of a fast generator.
Matrix some_descriptors(int first, int count) {
  Matrix rows(count, kDim);
  parallel_for(count, 0, [&](int i) {
    std::uint64_t state = 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(first + i + 1);
    double squares = 0;
    for (float& value : rows.row(i)) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      value = static_cast<float>(static_cast<std::int32_t>(state >> 32)) * 0x1p-31f;
      squares += static_cast<double>(value) * value;
    }
    for (float& value : rows.row(i)) value /= static_cast<float>(std::sqrt(squares));
  });
  return rows;
}

void build(const fs::path& file, int places, Storage storage) {
  Map::build(file, {"made-up", "{}", "", "", kDim}, storage, [&](Map& map) {
    for (int first = 0; first < places; first += kTogether) {
      const int count = std::min(kTogether, places - first);
      std::vector<Place> some(static_cast<std::size_t>(count));
      for (int i = 0; i < count; ++i) some[i].name = fmt::format("pictures/{:08}.jpg", first + i);
      map.add(some_descriptors(first, count), some);
    }
  });
}

/// All of a buffer into registers and nowhere else.
#if defined(__x86_64__)
__attribute__((target("avx2")))
#endif
std::uint64_t
read_through(const std::uint64_t* data, std::size_t count) {
  typedef std::uint64_t Four __attribute__((vector_size(32)));
  const auto* fours = reinterpret_cast<const Four*>(data);
  Four sums[4] = {};
  for (std::size_t i = 0; i + 4 <= count / 4; i += 4) {
    for (int j = 0; j < 4; ++j) sums[j] ^= fours[i + j];
  }
  const Four all = sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
  return all[0] ^ all[1] ^ all[2] ^ all[3];
}

/// What `cat file > /dev/null` does.
void read_file(const fs::path& file) {
  std::vector<char> buffer(128 << 10);
  const int in = ::open(file.c_str(), O_RDONLY);
  while (::read(in, buffer.data(), buffer.size()) > 0) {
  }
  ::close(in);
}

}  // namespace

double memory_bandwidth(int rounds) {
  const int cores = resolve_threads(0);
  const std::size_t words = std::size_t{512} << 17;  // 512 MB
  AlignedBuffer<std::uint64_t> memory(words);
  for (std::size_t i = 0; i < words; i += 512) memory.data()[i] = i;
  volatile std::uint64_t sink = 0;
  const auto best = best_of(rounds, {[&] {
                              parallel_for(cores, cores, [&](int part) {
                                const std::size_t share = words / cores;
                                sink = sink + read_through(memory.data() + part * share, share);
                              });
                            }});
  return static_cast<double>(words) * 8 / best[0];
}

void search(int places, int rounds, const Put& put) {
  const fs::path file = fs::temp_directory_path() / fmt::format("ria_bench_{}.ria", ::getpid());
  const int cores = resolve_threads(0);
  const std::size_t words = std::size_t{512} << 17;  // 512 MB
  for (const Storage storage : {Storage::kHalf, Storage::kInt8}) {
    const std::string key = "search_exact_" + to_string(storage) + "_";
    build(file, places, storage);
    const double before = process_memory("VmRSS:");
    Map map = Map::open(file);
    const Matrix query = some_descriptors(7, 1);
    map.search(query, 10);
    const double bytes = static_cast<double>(places) * kDim * (storage == Storage::kHalf ? 2 : 1);
    put("map_open_" + to_string(storage) + "_memory_over_descriptors",
        (process_memory("VmRSS:") - before) / bytes);
    const auto opening =
        best_of(std::max(2, rounds / 3),
                {[&] { read_file(file); }, [&] { Map::open(file).search(query, 10); }});
    put("map_open_" + to_string(storage) + "_ms", opening[1] * 1e3);
    put("map_open_" + to_string(storage) + "_over_read", opening[1] / opening[0]);

    const Matrix many = some_descriptors(1000, 32);
    AlignedBuffer<std::uint64_t> memory(words);
    for (std::size_t i = 0; i < words; i += 512) memory.data()[i] = i;
    volatile std::uint64_t sink = 0;
    const auto best = best_of(rounds,
                              {[&] {
                                 parallel_for(cores, cores, [&](int part) {
                                   const std::size_t share = words / cores;
                                   sink = sink + read_through(memory.data() + part * share, share);
                                 });
                               },
                               [&] { map.search(query, 10); },
                               [&] { map.search(many, 10); }});
    const double bandwidth = static_cast<double>(words) * 8 / best[0];
    put(key + "bandwidth_gb_per_second", bandwidth / 1e9);
    put(key + "ms", best[1] * 1e3);
    put(key + "share_of_bandwidth", bytes / best[1] / bandwidth);
    put(key + "ms_per_query_of_32", best[2] * 1e3 / 32);
    if (storage == Storage::kInt8) {
      put("search_exact_share_of_bandwidth", bytes / best[1] / bandwidth);
    }
    fs::remove(file);
  }
}

}  // namespace ria::bench
