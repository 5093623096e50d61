// SPDX-License-Identifier: MIT
#include "structure/search_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "structure/checksum.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

constexpr int kMostDims = 1 << 24, kMostReduced = 1 << 14, kMostLists = 1 << 22;
constexpr int kMostDegree = 256;
constexpr std::size_t kLine = 64;

[[noreturn]] void damaged(const fs::path& file, const char* what) {
  throw std::runtime_error(fmt::format("{} is damaged: {}", file.string(), what));
}

/// Far beyond what descriptors of length one give; no sum of products of such values is infinite.
constexpr float kMostValue = 1e6f;

bool in(std::int64_t value, std::int64_t low, std::int64_t high) {
  return value >= low && value <= high;
}

bool possible(const SearchShape& shape) {
  const bool lists = shape.kind == SearchKind::kLists && in(shape.lists, 1, kMostLists) &&
                     in(shape.pairs, 1, kMostPairs) && shape.reduced % (2 * shape.pairs) == 0 &&
                     shape.groups >= 0;
  const bool graph = shape.kind == SearchKind::kGraph && in(shape.degree, 2, kMostDegree) &&
                     shape.lists == 0 && shape.pairs == 0 && shape.groups == 0;
  return (lists || graph) && in(shape.dim, 1, kMostDims) && in(shape.reduced, 2, kMostReduced) &&
         shape.blocks >= 1 && shape.places >= 0 && shape.removed >= 0;
}

/// Arrays behind each other in the mapped bytes.
class Cutter {
 public:
  Cutter(std::span<const std::uint8_t> bytes, std::size_t at) : bytes_(bytes), at_(at) {}

  template <typename T>
  bool take(std::size_t count, std::span<const T>& to) {
    const std::size_t left = bytes_.size() - at_;
    if (count > left / sizeof(T)) return false;
    to = {reinterpret_cast<const T*>(bytes_.data() + at_), count};
    at_ += count * sizeof(T);
    return true;
  }
  std::size_t at() const { return at_; }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_;
};

}  // namespace

std::size_t model_values(const SearchShape& shape) {
  const auto n = [](int value) { return static_cast<std::size_t>(value); };
  return (1 + n(shape.reduced)) * n(shape.values()) + n(shape.reduced) + 1 +
         n(shape.lists) * n(shape.reduced) +
         n(shape.pairs > 0 ? kTableEntries : 0) * n(shape.reduced);
}

std::size_t graph_offset(const SearchShape& shape) {
  const std::size_t before = sizeof shape +
                             static_cast<std::size_t>(shape.blocks) * sizeof(SearchBlock) +
                             model_values(shape) * sizeof(float);
  return (before + kLine - 1) / kLine * kLine;
}

SearchModel model_of(const SearchShape& shape, std::span<const float> values) {
  SearchModel model;
  const auto take = [&](std::size_t count) {
    const auto part = values.first(count);
    values = values.subspan(count);
    return part;
  };
  const auto reduced = static_cast<std::size_t>(shape.reduced);
  model.mean = take(static_cast<std::size_t>(shape.values()));
  model.projection = take(reduced * static_cast<std::size_t>(shape.values()));
  model.variances = take(reduced + 1);
  model.centres = take(reduced * static_cast<std::size_t>(shape.lists));
  model.tables = take(shape.pairs > 0 ? reduced * kTableEntries : 0);
  return model;
}

std::int64_t footer_checksum(std::int64_t body, const SearchMeasure& measure) {
  return Checksum()
      .add_value(body)
      .add_value(measure.probes)
      .add_value(measure.refined)
      .add_value(measure.held_out)
      .add_value(measure.recall)
      .value();
}

fs::path search_file_of(const fs::path& map) { return map.string() + ".search"; }

SearchFile::SearchFile(const fs::path& file, bool has_footer) : mapped_(MappedFile::open(file)) {
  std::span<const std::uint8_t> bytes = mapped_->bytes();
  const std::size_t footer = has_footer ? sizeof(SearchMeasure) : 0;
  if (bytes.size() < sizeof shape_ + footer) damaged(file, "it is cut short");
  shape_ = load<SearchShape>(bytes, 0);
  if (std::memcmp(shape_.magic, SearchShape().magic, sizeof shape_.magic) != 0) {
    throw std::runtime_error(file.string() + " is no search structure of this version of ria");
  }
  if (!possible(shape_)) damaged(file, "its header");
  if (has_footer) measure_ = load<SearchMeasure>(bytes, bytes.size() - footer);
  bytes = bytes.first(bytes.size() - footer);
  Cutter cutter(bytes, sizeof shape_);
  std::span<const float> values;
  std::span<const std::uint8_t> groups, gap, graph;
  const bool has_graph = shape_.kind == SearchKind::kGraph;
  if (!cutter.take(static_cast<std::size_t>(shape_.blocks), blocks_) ||
      !cutter.take(static_cast<std::size_t>(shape_.lists), list_ends_) ||
      !cutter.take(model_values(shape_), values) ||
      !cutter.take(static_cast<std::size_t>(shape_.groups) * shape_.group_bytes(), groups) ||
      (has_graph && !cutter.take(graph_offset(shape_) - cutter.at(), gap)) ||
      (has_graph && !cutter.take(shape_.graph().bytes(), graph)) || !cutter.at_end()) {
    damaged(file, "its size");
  }
  model_ = model_of(shape_, values);
  groups_ = groups.data();
  if (has_graph) graph_ = Graph(shape_.graph(), graph.data());
  if (!has_footer) return;
  if (!same_checksum(footer_checksum(Checksum().add(bytes).value(), measure_), measure_.checksum)) {
    damaged(file, "its checksum");
  }
  if (std::ranges::any_of(values, [](float v) { return !(std::abs(v) <= kMostValue); })) {
    damaged(file, "its values");
  }
  require_order(file);
}

void SearchFile::require_order(const fs::path& file) const {
  const bool has_graph = shape_.kind == SearchKind::kGraph;
  const int most_probes = has_graph ? std::numeric_limits<std::int32_t>::max() : shape_.lists;
  if (!in(measure_.probes, 1, most_probes) || measure_.refined < 1 ||
      !(measure_.recall >= 0 && measure_.recall <= 1)) {
    damaged(file, "its measures");
  }
  int last = -1;
  for (const SearchBlock& block : blocks_) {
    if (block.first <= last || block.last < block.first || block.rows < 0 ||
        block.last == std::numeric_limits<std::int32_t>::max()) {
      damaged(file, "its blocks");
    }
    last = block.last;
  }
  int before = 0;
  for (const std::int32_t list_end : list_ends_) {
    if (!in(list_end, before, shape_.groups)) damaged(file, "its lists");
    before = list_end;
  }
  if (before != shape_.groups) damaged(file, "its lists");
  if (has_graph && !graph_.sound(end(), kMostValue)) damaged(file, "its graph");
}

SearchFile SearchFile::open(const fs::path& file) { return SearchFile(file, true); }

SearchFile SearchFile::open_body(const fs::path& file, const SearchMeasure& measure) {
  SearchFile body(file, false);
  body.measure_ = measure;
  body.require_order(file);
  return body;
}

CodeGroup SearchFile::group(int i) const {
  const std::uint8_t* at = groups_ + static_cast<std::size_t>(i) * shape_.group_bytes();
  return {{reinterpret_cast<const std::int32_t*>(at), kCodeGroup},
          {reinterpret_cast<const float*>(at + 4 * kCodeGroup), kCodeGroup},
          {reinterpret_cast<const std::uint16_t*>(at + 8 * kCodeGroup), kCodeGroup},
          at + 10 * kCodeGroup};
}

}  // namespace ria
