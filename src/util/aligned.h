// SPDX-License-Identifier: MIT
// Memory for vector code: aligned to cache lines, in huge pages where the system has them.
#pragma once

#include <sys/mman.h>

#include <cstddef>
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
    if (size == 0) return;
    constexpr std::size_t kHugePage = std::size_t{2} << 20;
    std::size_t bytes = size * sizeof(T);
    const std::size_t alignment = bytes >= kHugePage / 2 ? kHugePage : 64;
    bytes = (bytes + alignment - 1) / alignment * alignment;
    data_.reset(static_cast<T*>(std::aligned_alloc(alignment, bytes)));
    if (!data_) throw std::bad_alloc();
    if (alignment == kHugePage) ::madvise(data_.get(), bytes, MADV_HUGEPAGE);
    std::memset(data_.get(), 0, bytes);
  }

  T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

  /// At least this many values; what was there is lost if it grows.
  void reserve(std::size_t size) {
    if (size > size_) *this = AlignedBuffer(size);
  }

 private:
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace ria
