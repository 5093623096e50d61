// SPDX-License-Identifier: MIT
#include "archive/zip.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "archive/bytes.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kCentralHeader = 0x02014b50;
constexpr std::uint32_t kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50;
constexpr std::uint32_t kEnd64Locator = 0x07064b50;
constexpr std::uint32_t kIn64 = 0xffffffff;

struct Directory {
  std::uint64_t offset;
  std::uint64_t size;
  std::uint64_t count;
};

std::optional<std::size_t> find_end(Bytes bytes) {
  constexpr std::size_t kSize = 22;
  if (bytes.size() < kSize) return std::nullopt;
  const std::size_t last = bytes.size() - kSize;
  const std::size_t first = last - std::min<std::size_t>(last, 0xffff);
  for (std::size_t at = last + 1; at-- > first;) {
    // The comment must reach the end exactly, or a signature inside data could be taken for it.
    if (load<std::uint32_t>(bytes, at) == kEnd &&
        load<std::uint16_t>(bytes, at + 20) == last - at) {
      return at;
    }
  }
  return std::nullopt;
}

Directory find_directory(const fs::path& file, Bytes bytes) {
  const std::optional<std::size_t> end = find_end(bytes);
  if (!end) throw read_error(file, "the zip archive has no end record (is it cut short?)");
  Directory out{load<std::uint32_t>(bytes, *end + 16),
                load<std::uint32_t>(bytes, *end + 12),
                load<std::uint16_t>(bytes, *end + 10)};
  std::uint64_t limit = *end;
  if (out.offset == kIn64 || out.size == kIn64 || out.count == 0xffff) {
    if (*end < 20 || load<std::uint32_t>(bytes, *end - 20) != kEnd64Locator) {
      throw read_error(file, "the zip64 end record is missing");
    }
    const auto at = load<std::uint64_t>(bytes, *end - 12);
    if (!inside(at, 56, *end) || load<std::uint32_t>(bytes, at) != kEnd64) {
      throw read_error(file, "the zip64 end record is missing");
    }
    out = {load<std::uint64_t>(bytes, at + 48),
           load<std::uint64_t>(bytes, at + 40),
           load<std::uint64_t>(bytes, at + 32)};
    limit = at;
  }
  if (!inside(out.offset, out.size, limit)) {
    throw read_error(file,
                     fmt::format("zip directory at {} of {} bytes lies outside the file of {}",
                                 out.offset,
                                 out.size,
                                 bytes.size()));
  }
  return out;
}

struct Entry {
  std::string name;
  std::uint16_t flags;
  std::uint16_t method;
  std::uint32_t checksum;
  std::uint64_t packed_size;
  std::uint64_t size;
  std::uint64_t offset;
};

/// 64-bit values stand in the extra field, in this order, for those that are all ones.
bool widen(Entry& entry, Bytes extra) {
  std::uint64_t* const fields[] = {&entry.size, &entry.packed_size, &entry.offset};
  const auto needed = [](const std::uint64_t* field) { return *field == kIn64; };
  if (std::none_of(std::begin(fields), std::end(fields), needed)) return true;
  while (extra.size() >= 4) {
    const auto id = load<std::uint16_t>(extra, 0);
    const std::size_t size = load<std::uint16_t>(extra, 2);
    if (size > extra.size() - 4) return false;
    if (id == 1) {
      Bytes content = extra.subspan(4, size);
      for (std::uint64_t* field : fields) {
        if (!needed(field)) continue;
        if (content.size() < 8) return false;
        *field = load<std::uint64_t>(content, 0);
        content = content.subspan(8);
      }
      return true;
    }
    extra = extra.subspan(4 + size);
  }
  return false;
}

/// Reads the entry at `at` of the directory and moves `at` behind it.
Entry read_entry(const fs::path& file, Bytes directory, std::uint64_t& at) {
  constexpr std::size_t kSize = 46;
  if (!inside(at, kSize, directory.size()) ||
      load<std::uint32_t>(directory, at) != kCentralHeader) {
    throw read_error(file, "the zip directory is damaged");
  }
  const Bytes fixed = directory.subspan(at, kSize);
  const std::size_t name_size = load<std::uint16_t>(fixed, 28);
  const std::size_t extra_size = load<std::uint16_t>(fixed, 30);
  const std::size_t comment_size = load<std::uint16_t>(fixed, 32);
  if (!inside(at + kSize, name_size + extra_size + comment_size, directory.size())) {
    throw read_error(file, "the zip directory is damaged");
  }
  const Bytes name = directory.subspan(at + kSize, name_size);
  Entry entry{{name.begin(), name.end()},
              load<std::uint16_t>(fixed, 8),
              load<std::uint16_t>(fixed, 10),
              load<std::uint32_t>(fixed, 16),
              load<std::uint32_t>(fixed, 20),
              load<std::uint32_t>(fixed, 24),
              load<std::uint32_t>(fixed, 42)};
  if (!widen(entry, directory.subspan(at + kSize + name_size, extra_size))) {
    throw read_error(file, fmt::format("zip64 sizes of {} are missing", printable(entry.name)));
  }
  at += kSize + name_size + extra_size + comment_size;
  return entry;
}

std::runtime_error member_error(const fs::path& file,
                                const std::string& name,
                                std::string_view reason) {
  return read_error(file, fmt::format("zip member {}: {}", printable(name), reason));
}

/// The entry's bytes, which must lie before the directory.
ZipMember locate(const fs::path& file, const Entry& entry, Bytes data) {
  const auto fail = [&](const char* reason) { return member_error(file, entry.name, reason); };
  if ((entry.flags & 1) != 0) throw fail("it is encrypted");
  const bool deflated = entry.method == 8;
  if (!deflated && (entry.method != 0 || entry.packed_size != entry.size)) {
    throw fail("its kind of compression is not supported");
  }
  if (!inside(entry.offset, 30, data.size()) ||
      load<std::uint32_t>(data, entry.offset) != kLocalHeader) {
    throw fail("its header is damaged");
  }
  const std::uint64_t skip = std::uint64_t{30} + load<std::uint16_t>(data, entry.offset + 26) +
                             load<std::uint16_t>(data, entry.offset + 28);
  if (!inside(entry.offset, skip, data.size()) ||
      !inside(entry.offset + skip, entry.packed_size, data.size())) {
    throw fail("it lies outside the file");
  }
  const Bytes name = data.subspan(entry.offset + 30, load<std::uint16_t>(data, entry.offset + 26));
  if (as_text(name) != entry.name) throw fail("its header has another name");
  return {
      data.subspan(entry.offset + skip, entry.packed_size), entry.size, entry.checksum, deflated};
}

}  // namespace

ZipMembers read_zip(const fs::path& file, Bytes bytes) {
  const Directory directory = find_directory(file, bytes);
  const Bytes entries = bytes.subspan(directory.offset, directory.size);
  ZipMembers out;
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < directory.count; ++i) {
    const Entry entry = read_entry(file, entries, at);
    const ZipMember member = locate(file, entry, bytes.first(directory.offset));
    if (!out.emplace(entry.name, member).second) {
      throw member_error(file, entry.name, "it occurs twice");
    }
  }
  return out;
}

Bytes stored_member(const fs::path& file, const std::string& name, const ZipMember& member) {
  if (member.deflated) {
    throw member_error(file, name, "it is compressed, a stored member was expected");
  }
  return member.packed;
}

UnpackedMember unpack_member(const fs::path& file,
                             const std::shared_ptr<const MappedFile>& mapping,
                             const std::string& name,
                             const ZipMember& member,
                             InflateBudget& budget) {
  UnpackedMember out{member.packed, mapping};
  if (member.deflated) {
    out.owner = MappedFile::from_memory(inflate_whole(file,
                                                      "zip member " + printable(name),
                                                      member.packed,
                                                      member.size,
                                                      DeflateForm::raw,
                                                      budget));
    out.bytes = out.owner->bytes();
  }
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION  // random changes never have the right checksum
  if (crc32_of(out.bytes) != member.checksum) {
    throw member_error(file, name, "it is damaged: its checksum differs");
  }
#endif
  return out;
}

}  // namespace ria
