// SPDX-License-Identifier: MIT
#include "tensor/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tensor/npy_header.h"
#include "util/files.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

using Bytes = std::span<const std::uint8_t>;

struct Source {
  DType dtype;
  std::size_t item;
  bool widen;  // an unsigned type without a DType of its own
};

std::optional<Source> source_of(std::string_view code) {
  if (code == "f8") return Source{DType::F64, 8, false};
  if (code == "f4") return Source{DType::F32, 4, false};
  if (code == "f2") return Source{DType::F16, 2, false};
  if (code == "i8") return Source{DType::I64, 8, false};
  if (code == "i4") return Source{DType::I32, 4, false};
  if (code == "i2") return Source{DType::I16, 2, false};
  if (code == "i1") return Source{DType::I8, 1, false};
  if (code == "u1") return Source{DType::U8, 1, false};
  if (code == "b1") return Source{DType::BOOL, 1, false};
  if (code == "u2") return Source{DType::I32, 2, true};
  if (code == "u4") return Source{DType::I64, 4, true};
  return std::nullopt;
}

/// Items in the machine's byte order, widened to the size of the DType.
std::vector<std::uint8_t> native_items(Bytes data, const Source& source, bool swapped) {
  const std::size_t width = item_size(source.dtype);
  const std::size_t count = data.size() / source.item;
  std::vector<std::uint8_t> out(count * width, 0);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint8_t* const to = out.data() + i * width;
    std::memcpy(to, data.data() + i * source.item, source.item);
    if (swapped) std::reverse(to, to + source.item);
  }
  return out;
}

}  // namespace

Tensor read_npy(const fs::path& file,
                Bytes bytes,
                const std::shared_ptr<const MappedFile>& mapping) {
  const NpyHeader header = read_npy_header(file, bytes);
  const char order = header.descr.empty() ? '?' : header.descr[0];
  const auto source = source_of(std::string_view(header.descr).substr(order == '?' ? 0 : 1));
  if (!source || std::string_view("<>|=").find(order) == std::string_view::npos) {
    throw read_error(file, fmt::format("dtype {} is not supported", printable(header.descr)));
  }
  const Bytes data = bytes.subspan(header.start);
  const auto size = checked_product(header.shape, source->item);
  const std::size_t width = item_size(source->dtype);
  if (!size || *size != data.size() || !checked_product(header.shape, width)) {
    throw read_error(file,
                     fmt::format("{} bytes of values do not fit its shape and dtype", data.size()));
  }
  const bool swapped = order == '>' && source->item > 1;
  if (!swapped && !source->widen && !header.fortran_order) {
    return mapped_tensor(source->dtype, header.shape, data, mapping);
  }
  std::vector<std::uint8_t> items = native_items(data, *source, swapped);
  if (header.fortran_order) items = row_major(items, header.shape, width);
  return make_tensor(source->dtype, header.shape, std::move(items));
}

Tensor read_npy(const fs::path& file) {
  const auto mapping = MappedFile::open(file);
  return read_npy(file, mapping->bytes(), mapping);
}

TensorFile read_npz(const fs::path& file,
                    const std::shared_ptr<const MappedFile>& mapping,
                    const ZipMembers& members) {
  constexpr std::string_view kEnding = ".npy";
  InflateBudget budget(mapping->bytes().size());
  TensorMap tensors;
  for (const auto& [name, member] : members) {
    if (!name.ends_with(kEnding)) continue;
    const UnpackedMember content = unpack_member(file, mapping, name, member, budget);
    if (is_text_or_objects(read_npy_header(file, content.bytes))) continue;
    tensors.emplace(name.substr(0, name.size() - kEnding.size()),
                    read_npy(file, content.bytes, content.owner));
  }
  if (tensors.empty()) throw read_error(file, "the .npz archive has no numeric array");
  return {file, WeightFormat::npz, std::move(tensors), {}};
}

std::string npy_prefix(std::int64_t rows, std::int64_t cols) {
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, cols);
  // NumPy aligns the values to 64 bytes and ends the header with a newline.
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string prefix("\x93NUMPY\x01\x00", 8);
  prefix += static_cast<char>(header.size() & 0xFF);
  prefix += static_cast<char>(header.size() >> 8);
  return prefix + header;
}

void write_npy(AtomicFile& out, const float* values, std::int64_t rows, std::int64_t cols) {
  const auto size = rows < 0 || cols < 0 ? std::nullopt : checked_product({rows, cols}, 4);
  if (!size) throw std::invalid_argument(fmt::format("a {} x {} array has no size", rows, cols));
  out.write(npy_prefix(rows, cols));
  if (*size != 0) out.write_values(std::span<const float>(values, *size / sizeof(float)));
}

void write_npy(const fs::path& file, const float* values, std::int64_t rows, std::int64_t cols) {
  AtomicFile out(file);
  write_npy(out, values, rows, cols);
  out.commit();
}

}  // namespace ria
