// SPDX-License-Identifier: MIT
#include "optimise/assemble.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "optimise/body.h"

namespace ria {

namespace {

template <typename T>
void put(std::vector<std::uint8_t>& bytes, const std::vector<T>& values) {
  const std::uint64_t count = values.size();
  const auto* from = reinterpret_cast<const std::uint8_t*>(values.data());
  const auto* size = reinterpret_cast<const std::uint8_t*>(&count);
  bytes.insert(bytes.end(), size, size + sizeof count);
  bytes.insert(bytes.end(), from, from + values.size() * sizeof(T));
}

template <typename T>
std::vector<T> take(std::span<const std::uint8_t>& bytes) {
  std::uint64_t count = 0;
  if (bytes.size() >= sizeof count) std::memcpy(&count, bytes.data(), sizeof count);
  if (bytes.size() < sizeof count || count > (bytes.size() - sizeof count) / sizeof(T)) {
    throw std::runtime_error("what an earlier run left cannot be read: start again");
  }
  std::vector<T> values(count);
  if (count > 0) std::memcpy(values.data(), bytes.data() + sizeof count, count * sizeof(T));
  bytes = bytes.subspan(sizeof count + count * sizeof(T));
  return values;
}

/// The groups of lists [first, end), empty at first, and where the next place of each goes.
class Groups {
 public:
  Groups(const SearchShape& shape, std::span<const std::int32_t> ends, int first, int end)
      : shape_(shape), first_(first), end_(end) {
    begin_ = first == 0 ? 0 : ends[first - 1];
    for (int list = first; list < end; ++list) {
      next_.push_back(std::int64_t{(list == 0 ? 0 : ends[list - 1]) - begin_} * kCodeGroup);
    }
    bytes_.resize(static_cast<std::size_t>(ends[end - 1] - begin_) * shape.group_bytes());
    for (std::size_t at = 0; at < bytes_.size(); at += shape.group_bytes()) {
      std::memset(bytes_.data() + at, 0xff, 4 * kCodeGroup);  // no place
    }
  }

  void add(const CodedBlock& block) {
    for (std::size_t i = 0; i < block.places.size(); ++i) {
      const int list = block.lists[i];
      if (list < first_ || list >= end_) continue;
      const std::int64_t at = next_[static_cast<std::size_t>(list - first_)]++;
      std::uint8_t* group =
          bytes_.data() + static_cast<std::size_t>(at / kCodeGroup) * shape_.group_bytes();
      const auto in = static_cast<std::size_t>(at % kCodeGroup);
      std::memcpy(group + 4 * in, &block.places[i], 4);
      std::memcpy(group + 4 * kCodeGroup + 4 * in, &block.scales[i], 4);
      const std::uint8_t* code = block.codes.data() + i * static_cast<std::size_t>(shape_.pairs);
      std::memcpy(group + 8 * kCodeGroup + 2 * in, &block.errors[i], 2);
      for (int p = 0; p < shape_.pairs; ++p) group[(10 + p) * kCodeGroup + in] = code[p];
    }
  }

  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  const SearchShape& shape_;
  int first_, end_, begin_ = 0;
  std::vector<std::int64_t> next_;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace

std::vector<std::uint8_t> CodedBlock::bytes() const {
  std::vector<std::uint8_t> bytes;
  put(bytes, std::vector<SearchBlock>{block});
  put(bytes, places);
  put(bytes, lists);
  put(bytes, scales);
  put(bytes, errors);
  put(bytes, codes);
  put(bytes, sizes);
  put(bytes, nearest);
  return bytes;
}

CodedBlock CodedBlock::from(std::span<const std::uint8_t> bytes) {
  CodedBlock made;
  for (const SearchBlock& one : take<SearchBlock>(bytes)) made.block = one;
  made.places = take<std::int32_t>(bytes);
  made.lists = take<std::int32_t>(bytes);
  made.scales = take<float>(bytes);
  made.errors = take<std::uint16_t>(bytes);
  made.codes = take<std::uint8_t>(bytes);
  made.sizes = take<NodeSize>(bytes);
  made.nearest = take<Match>(bytes);
  return made;
}

std::int64_t write_lists(SearchShape shape,
                         std::span<const float> model,
                         const EachBlock& each,
                         std::int64_t max_bytes,
                         AtomicFile& file) {
  std::vector<SearchBlock> blocks;
  std::vector<std::int32_t> sizes(static_cast<std::size_t>(shape.lists)), ends;
  shape.places = 0;
  each([&](const CodedBlock& block) {
    blocks.push_back(block.block);
    for (const std::int32_t list : block.lists) ++sizes[static_cast<std::size_t>(list)];
    shape.places += static_cast<std::int32_t>(block.places.size());
  });
  shape.blocks = static_cast<std::int32_t>(blocks.size());
  shape.groups = 0;
  for (const std::int32_t size : sizes) {
    ends.push_back(shape.groups += (size + kCodeGroup - 1) / kCodeGroup);
  }
  Body body(file);
  body.add(&shape, sizeof shape);
  body.add(blocks.data(), blocks.size() * sizeof(SearchBlock));
  body.add(ends.data(), ends.size() * sizeof(std::int32_t));
  body.add(model.data(), model.size_bytes());
  for (int first = 0; first < shape.lists;) {
    int end = first + 1;
    const int before = first == 0 ? 0 : ends[first - 1];
    while (end < shape.lists && static_cast<std::int64_t>(ends[end] - before) *
                                        static_cast<std::int64_t>(shape.group_bytes()) <=
                                    max_bytes) {
      ++end;
    }
    Groups groups(shape, ends, first, end);
    each([&](const CodedBlock& block) { groups.add(block); });
    body.add(groups.bytes().data(), groups.bytes().size());
    first = end;
  }
  return body.finish();
}

std::int64_t write_graph(SearchShape shape,
                         std::span<const float> model,
                         std::span<const SearchBlock> blocks,
                         std::span<const std::uint8_t> arrays,
                         AtomicFile& file) {
  shape.blocks = static_cast<std::int32_t>(blocks.size());
  Body body(file);
  body.add(&shape, sizeof shape);
  body.add(blocks.data(), blocks.size_bytes());
  body.add(model.data(), model.size_bytes());
  const std::vector<std::uint8_t> gap(graph_offset(shape) - body.size());
  body.add(gap.data(), gap.size());
  body.add(arrays.data(), arrays.size());
  return body.finish();
}

}  // namespace ria
