// SPDX-License-Identifier: MIT
// Memory for vector code: aligned to cache lines, in huge pages where the system has them.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace ria {

/// A fixed number of plain values, zero at first.
template <typename T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t size) : size_(size) {
    const std::size_t bytes = size * sizeof(T);
    if (size == 0) return;
    if (bytes < kHugePage / 2) {
      const std::size_t lines = (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
      data_.reset(static_cast<T*>(std::aligned_alloc(kCacheLine, lines)));
      if (data_) std::memset(data_.get(), 0, lines);
    } else {
      data_ = {map_huge(bytes), Free{bytes}};
    }
    if (!data_) throw std::bad_alloc();
  }

  T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

  /// At least this many values; what was there is lost if it grows.
  void reserve(std::size_t size) {
    if (size > size_) *this = AlignedBuffer(size);
  }

 private:
  static constexpr std::size_t kCacheLine = 64, kPage = 4096, kHugePage = std::size_t{2} << 20;

  struct Free {
    std::size_t mapped = 0;  ///< bytes; 0: from the heap
    void operator()(T* p) const { mapped > 0 ? void(::munmap(p, mapped)) : std::free(p); }
  };

  /// Fresh pages are zero already: nothing is written twice. nullptr: there are none.
  static T* map_huge(std::size_t bytes) {
    constexpr int kProtection = PROT_READ | PROT_WRITE, kKind = MAP_PRIVATE | MAP_ANONYMOUS;
    const std::size_t pages = (bytes + kPage - 1) / kPage * kPage;
    void* room = ::mmap(nullptr, pages + kHugePage, kProtection, kKind, -1, 0);
    if (room == MAP_FAILED) return nullptr;
    auto* first = static_cast<std::byte*>(room);
    const std::size_t skipped = -reinterpret_cast<std::uintptr_t>(first) % kHugePage;
    if (skipped > 0) ::munmap(first, skipped);
    ::munmap(first + skipped + pages, kHugePage - skipped);
    ::madvise(first + skipped, pages, MADV_HUGEPAGE);
    return reinterpret_cast<T*>(first + skipped);
  }

  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace ria
