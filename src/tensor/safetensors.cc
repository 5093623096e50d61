// SPDX-License-Identifier: MIT
#include "tensor/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "util/files.h"

namespace ria {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// The reference implementation's limit.
constexpr std::uint64_t kLongestHeader = 100'000'000;
constexpr const char* kMetadata = "__metadata__";

struct Range {
  std::uint64_t begin;
  std::uint64_t end;
  std::string name;
};

json parse_header(const fs::path& file, std::span<const std::uint8_t> bytes) {
  const auto length = load<std::uint64_t>(bytes, 0);
  if (length > kLongestHeader || !inside(8, length, bytes.size())) {
    throw read_error(
        file,
        fmt::format(
            "safetensors header of {} bytes does not fit a file of {}", length, bytes.size()));
  }
  const auto text = bytes.subspan(8, static_cast<std::size_t>(length));
  json header = json::parse(text.begin(), text.end(), nullptr, false);
  if (!header.is_object()) throw read_error(file, "safetensors header is not a JSON object");
  return header;
}

Metadata parse_metadata(const fs::path& file, const json& header) {
  Metadata out;
  if (!header.contains(kMetadata)) return out;
  const json& object = header[kMetadata];
  if (!object.is_object()) throw read_error(file, "__metadata__ is not an object");
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) {
      throw read_error(file, fmt::format("__metadata__ {} is not a string", printable(key)));
    }
    out[key] = value.get<std::string>();
  }
  return out;
}

std::runtime_error entry_error(const fs::path& file, const std::string& name, const char* reason) {
  return read_error(file, fmt::format("tensor {}: {}", printable(name), reason));
}

bool unsigned_array(const json& entry, const char* key) {
  const auto found = entry.find(key);
  return found != entry.end() && found->is_array() &&
         std::all_of(found->begin(), found->end(), [](const json& value) {
           return value.is_number_unsigned() &&
                  value.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX);
         });
}

Tensor parse_entry(const fs::path& file,
                   const std::string& name,
                   const json& entry,
                   std::span<const std::uint8_t> data) {
  if (!entry.is_object()) throw entry_error(file, name, "entry is not an object");
  const auto dtype_entry = entry.find("dtype");
  const auto dtype = dtype_entry != entry.end() && dtype_entry->is_string()
                         ? dtype_from_name(dtype_entry->get_ref<const std::string&>())
                         : std::nullopt;
  if (!dtype) throw entry_error(file, name, "dtype is missing or unknown");
  if (!unsigned_array(entry, "shape"))
    throw entry_error(file, name, "shape is not a list of sizes");
  if (!unsigned_array(entry, "data_offsets") || entry["data_offsets"].size() != 2) {
    throw entry_error(file, name, "data_offsets is not a pair of offsets");
  }
  Tensor tensor;
  tensor.dtype = *dtype;
  tensor.shape = entry["shape"].get<std::vector<std::int64_t>>();
  const auto begin = entry["data_offsets"][0].get<std::uint64_t>();
  const auto end = entry["data_offsets"][1].get<std::uint64_t>();
  if (begin > end || end > data.size()) {
    throw entry_error(file, name, "data_offsets lie outside the file (is it cut short?)");
  }
  const auto size = checked_product(tensor.shape, item_size(*dtype));
  if (!size || *size != end - begin) {
    throw entry_error(file, name, "shape and dtype do not match data_offsets");
  }
  tensor.bytes = data.subspan(begin, end - begin);
  return tensor;
}

/// Values must tile the data exactly: that rules out overlaps, holes and trailing bytes at once.
void check_ranges(const fs::path& file, std::vector<Range> ranges, std::uint64_t data_size) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  std::uint64_t reached = 0;
  for (const Range& range : ranges) {
    if (range.begin < reached) throw entry_error(file, range.name, "overlaps another tensor");
    if (range.begin > reached) throw entry_error(file, range.name, "leaves a hole before it");
    reached = range.end;
  }
  if (reached != data_size) {
    throw read_error(file,
                     fmt::format("tensors end at {}, the data has {} bytes", reached, data_size));
  }
}

}  // namespace

TensorFile read_safetensors(const fs::path& file,
                            const std::shared_ptr<const MappedFile>& mapping) {
  const std::span<const std::uint8_t> bytes = mapping->bytes();
  if (bytes.size() < 8) throw read_error(file, "too short for a safetensors header");
  const json header = parse_header(file, bytes);
  const auto data = bytes.subspan(8 + static_cast<std::size_t>(load<std::uint64_t>(bytes, 0)));
  TensorMap tensors;
  std::vector<Range> ranges;
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadata) continue;
    Tensor tensor = parse_entry(file, name, entry, data);
    tensor.owner = mapping;
    tensor.mapped = mapping.get();
    const auto begin = static_cast<std::uint64_t>(tensor.bytes.data() - data.data());
    ranges.push_back({begin, begin + tensor.bytes.size(), name});
    tensors.emplace(name, std::move(tensor));
  }
  check_ranges(file, std::move(ranges), data.size());
  return {file, WeightFormat::safetensors, std::move(tensors), parse_metadata(file, header)};
}

void write_safetensors(const fs::path& file,
                       const TensorMap& tensors,
                       const Metadata& metadata,
                       Durability durability) {
  // Wide items first keeps every tensor aligned to its item without padding between them.
  std::vector<const TensorMap::value_type*> order;
  for (const auto& entry : tensors) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return item_size(a->second.dtype) > item_size(b->second.dtype);
  });

  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  std::uint64_t offset = 0;
  for (const auto* entry : order) {
    const auto& [name, tensor] = *entry;
    if (name == kMetadata) throw std::invalid_argument("a tensor cannot be named __metadata__");
    const std::uint64_t end = offset + tensor.bytes.size();
    header[name] = {{"dtype", dtype_name(tensor.dtype)},
                    {"shape", tensor.shape},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const json::exception&) {
    throw std::runtime_error(
        fmt::format("cannot write {}: a tensor name or metadata is not UTF-8", file.string()));
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');

  AtomicFile out(file, durability);
  const std::uint64_t length = text.size();
  out.write_values(std::span<const std::uint64_t>(&length, 1));
  out.write(text);
  for (const auto* entry : order) {
    if (!entry->second.bytes.empty()) out.write(entry->second.bytes);
  }
  out.commit();
}

}  // namespace ria
