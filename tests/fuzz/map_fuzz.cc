// SPDX-License-Identifier: MIT
// Maps: everything that reads one, on damaged files.
#include <unistd.h>

#include "fuzz.h"
#include "ria/map.h"

namespace {

namespace fs = std::filesystem;

/// A file of this process; what SQLite makes beside it goes with it.
class File {
 public:
  File(const std::uint8_t* data, std::size_t size) {
    std::FILE* out = std::fopen(path.c_str(), "wb");
    if (out == nullptr || std::fwrite(data, 1, size, out) != size) std::abort();
    std::fclose(out);
  }
  ~File() {
    for (const char* ending : {"", "-wal", "-shm", "-journal"}) fs::remove(path.string() + ending);
  }
  const fs::path path = "map_fuzz_input_" + std::to_string(::getpid());
};

void read_all(const ria::Map& map) {
  for (const std::string& problem : map.check()) {
    if (problem.find('\n') != problem.npos) ria::fuzz::report("several lines: " + problem);
  }
  std::vector<int> places;
  map.each_place([&](int number, const ria::Place&) { places.push_back(number); });
  if (map.header().dim > 10'000 || places.size() > 10'000) return;  // slow, and no fault
  const ria::Descriptor query(static_cast<std::size_t>(map.header().dim), 1.0f);
  for (const ria::Match& match : map.search(query, 5)) {
    if (match.place < 0) ria::fuzz::report("a place that cannot be");
  }
  for (const int place : places) {
    if (map.has_locals()) map.local(place);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const File file(data, size);
  try {
    try {
      read_all(ria::Map::open(file.path));
      ria::Map map = ria::Map::open(file.path, ria::Access::kWrite);
      if (map.size() > 0 && map.size() < 1000) map.remove({0, 1, 2});
      read_all(map);
    } catch (const std::invalid_argument&) {  // a place that a damaged file does not have
    }
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    if (text.find('\n') != text.npos) ria::fuzz::report("an error of several lines: " + text);
    if (text.find(file.path.string()) == text.npos) {
      ria::fuzz::report("an error without the file: " + text);
    }
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
