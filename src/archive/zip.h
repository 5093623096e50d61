// SPDX-License-Identifier: MIT
// Members of a zip container, zip64 too: what torch.save (stored) and NumPy (stored or deflated)
// write.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "archive/bytes.h"
#include "archive/inflate.h"

namespace ria {

struct ZipMember {
  std::span<const std::uint8_t> packed;  ///< as it lies in the archive
  std::uint64_t size = 0;                ///< unpacked
  std::uint32_t checksum = 0;
  bool deflated = false;
};

using ZipMembers = std::map<std::string, ZipMember>;

/// By name; their bytes lie inside `bytes`.
ZipMembers read_zip(const std::filesystem::path& file, std::span<const std::uint8_t> bytes);

/// The bytes of a member that must not be compressed. The checksum is not compared: torch may be
/// told not to write it.
std::span<const std::uint8_t> stored_member(const std::filesystem::path& file,
                                            const std::string& name,
                                            const ZipMember& member);

struct UnpackedMember {
  std::span<const std::uint8_t> bytes;
  std::shared_ptr<const MappedFile> owner;  ///< the archive, or memory of its own
};

/// Stored or deflated, the checksum compared.
UnpackedMember unpack_member(const std::filesystem::path& file,
                             const std::shared_ptr<const MappedFile>& mapping,
                             const std::string& name,
                             const ZipMember& member,
                             InflateBudget& budget);

}  // namespace ria
