// SPDX-License-Identifier: MIT
// Search structures of maps, on damaged files.
#include <unistd.h>

#include "fuzz.h"
#include "structure/candidates.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string name = "search_fuzz_input_" + std::to_string(::getpid());
  std::FILE* out = std::fopen(name.c_str(), "wb");
  if (out == nullptr || std::fwrite(data, 1, size, out) != size) std::abort();
  std::fclose(out);
  try {
    const auto candidates = ria::Candidates::of(ria::SearchFile::open(name));
    const std::vector<float> query(static_cast<std::size_t>(candidates->file.shape().dim), 0.1f);
    for (const ria::CodedPlace& one : candidates->find(query, 5, [](int) { return true; })) {
      if (one.place < 0) ria::fuzz::report("a place that cannot be");
    }
    candidates->spread(query);
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    if (text.find('\n') != text.npos) ria::fuzz::report("an error of several lines: " + text);
    if (text.find(name) == text.npos) ria::fuzz::report("an error without the file: " + text);
  } catch (const std::bad_alloc&) {
  }
  std::remove(name.c_str());
  return 0;
}
