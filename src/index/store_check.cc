// SPDX-License-Identifier: MIT
// Every page and every checksum of a map.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "index/store.h"

namespace ria {

namespace {

constexpr std::size_t kMostProblems = 100;

/// Runs steps that may each find the file damaged, and goes on behind what they find.
class Problems {
 public:
  template <typename Step>
  void watch(Step step) {
    try {
      step();
    } catch (const std::runtime_error& error) {
      found.push_back(error.what());
    }
  }
  bool many() const { return found.size() >= kMostProblems; }

  std::vector<std::string> found;
};

}  // namespace

std::vector<std::string> MapStore::check() const {
  Problems problems;
  const std::string file = database_.file().string();
  problems.watch([&] {
    Statement row = database_.prepare("PRAGMA integrity_check(20)");
    while (row.step()) {
      if (row.text(0) == "ok") continue;
      std::string line = row.text(0);
      std::ranges::replace(line, '\n', ' ');
      problems.found.push_back(fmt::format("{}: {}", file, line));
    }
  });
  std::vector<int> places;
  problems.watch([&] { places = numbers(); });
  problems.watch([&] { fitted(); });
  const bool locals = state_or_none(problems.found).locals;
  for (const int number : places) {
    if (problems.many()) break;
    problems.watch([&] { place(number); });
    if (!locals) continue;
    problems.watch([&] {
      try {
        local(number);
      } catch (const std::invalid_argument& error) {
        database_.damaged(error.what());
      }
    });
  }
  if (keeps_rows()) check_rows(places, problems.found);
  return problems.found;
}

MapState MapStore::state_or_none(std::vector<std::string>& problems) const {
  try {
    const MapState now = state();
    if (now.size() != std::ssize(numbers())) database_.damaged("it counts its places wrongly");
    return now;
  } catch (const std::runtime_error& error) {
    problems.push_back(error.what());
    return {};
  }
}

/// Every block by itself, so that one that is damaged does not hide the next.
void MapStore::check_rows(const std::vector<int>& places,
                          std::vector<std::string>& problems) const {
  Problems found;
  std::vector<int> described;
  std::vector<std::int64_t> blocks;
  found.watch([&] {
    Statement row = database_.prepare("SELECT id FROM block ORDER BY id");
    while (row.step()) blocks.push_back(row.integer(0));
  });
  for (const std::int64_t id : blocks) {
    if (found.many()) break;
    found.watch([&] {
      Block block;
      {
        Statement row = database_.prepare(
            "SELECT id, last, dead, places, scales, checksum FROM block WHERE id = ?");
        if (row.bind(id).step()) block = block_of(row);
      }
      std::vector<int> alive;
      std::ranges::set_intersection(
          live(block.first, block.last), block.places, std::back_inserter(alive));
      described.insert(described.end(), alive.begin(), alive.end());
      read_block(block);
      if (std::ssize(block.places) - block.dead != std::ssize(alive)) {
        database_.damaged(fmt::format("block {} counts its places wrongly", block.first));
      }
    });
  }
  found.watch([&] {
    EncodedRows rows;
    read_tail(-1, kLargestNumber, rows, described);
  });
  std::ranges::sort(described);
  std::vector<int> without;
  std::ranges::set_difference(places, described, std::back_inserter(without));
  for (const int place : without) {
    if (found.many()) break;
    found.found.push_back(
        fmt::format("{} is damaged: place {} has no descriptor", database_.file().string(), place));
  }
  if (std::ranges::adjacent_find(described) != described.end()) {
    found.found.push_back(database_.file().string() + " is damaged: a place has two descriptors");
  }
  problems.insert(problems.end(), found.found.begin(), found.found.end());
}

}  // namespace ria
