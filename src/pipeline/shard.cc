// SPDX-License-Identifier: MIT
#include "ria/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <stdexcept>

namespace ria {

Shard Shard::parse(const std::string& text) {
  Shard shard;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, shard.index);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == '/') {
    const auto second = std::from_chars(first.ptr + 1, end, shard.count);
    const bool whole = second.ec == std::errc() && second.ptr == end;
    if (whole && shard.index >= 1 && shard.index <= shard.count) return shard;
  }
  throw std::invalid_argument(fmt::format("shard is '{}', 1/N to N/N was expected, as 3/16", text));
}

std::vector<std::filesystem::path> Shard::of(const std::vector<std::filesystem::path>& pictures,
                                             int group) const {
  const auto total = static_cast<std::int64_t>(pictures.size());
  const std::int64_t size = std::max(1, group), groups = (total + size - 1) / size;
  const auto border = [&](int part) { return std::min(total, groups * part / count * size); };
  return {pictures.begin() + border(index - 1), pictures.begin() + border(index)};
}

}  // namespace ria
