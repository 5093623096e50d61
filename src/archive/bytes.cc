// SPDX-License-Identifier: MIT
#include "archive/bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <utility>

namespace ria {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "tensors are stored little-endian");

std::shared_ptr<const MappedFile> MappedFile::open(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw read_error(file, std::strerror(errno));
  const std::unique_ptr<const int, void (*)(const int*)> closer(
      &descriptor, [](const int* handle) { ::close(*handle); });
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) throw read_error(file, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) throw read_error(file, "it is a folder, a file was expected");
  if (!S_ISREG(status.st_mode)) throw read_error(file, "a regular file was expected");

  std::shared_ptr<MappedFile> mapping(new MappedFile);
  if (status.st_size == 0) return mapping;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) throw read_error(file, std::strerror(errno));
  mapping->data_ = static_cast<const std::uint8_t*>(address);
  mapping->size_ = size;
  return mapping;
}

std::shared_ptr<const MappedFile> MappedFile::from_memory(std::vector<std::uint8_t> bytes) {
  std::shared_ptr<MappedFile> out(new MappedFile);
  out->memory_ = std::move(bytes);
  out->data_ = out->memory_.data();
  out->size_ = out->memory_.size();
  return out;
}

MappedFile::~MappedFile() {
  const bool mapped = data_ != nullptr && data_ != memory_.data();
  if (mapped) ::munmap(const_cast<std::uint8_t*>(data_), size_);
}

void MappedFile::release(std::span<const std::uint8_t> part) const {
  if (data_ == nullptr || data_ == memory_.data() || part.empty()) return;
  const auto whole = reinterpret_cast<std::uintptr_t>(data_);
  const auto first = reinterpret_cast<std::uintptr_t>(part.data());
  if (first < whole || !inside(first - whole, part.size(), size_)) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = (first + page - 1) / page * page;
  const std::uintptr_t end = (first + part.size()) / page * page;
  // It is advice: a refusal costs memory, not correctness.
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

std::runtime_error read_error(const fs::path& file, std::string_view reason) {
  return std::runtime_error(fmt::format("cannot read {}: {}", file.string(), reason));
}

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 120;
  std::string out;
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return text.size() > kLongest ? out + "..." : out;
}

bool starts_with(std::span<const std::uint8_t> bytes, std::string_view text) {
  return as_text(bytes).starts_with(text);
}

std::optional<std::uint64_t> checked_product(const std::vector<std::int64_t>& shape,
                                             std::uint64_t item_size) {
  std::uint64_t product = item_size;
  for (const std::int64_t dimension : shape) {
    if (dimension < 0) return std::nullopt;
    if (__builtin_mul_overflow(product, static_cast<std::uint64_t>(dimension), &product)) {
      return std::nullopt;
    }
  }
  // Sizes are handled as signed counts elsewhere.
  if (product > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  return product;
}

}  // namespace ria
