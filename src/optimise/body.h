// SPDX-License-Identifier: MIT
// A file and the checksum of what went there, some at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "structure/checksum.h"
#include "util/files.h"

namespace ria {

class Body {
 public:
  explicit Body(AtomicFile& file) : file_(file) { waiting_.reserve(kTogether); }
  void add(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::uint8_t*>(data);
    size_ += size;
    while (size > 0) {
      const std::size_t some = std::min(size, kTogether - waiting_.size());
      waiting_.insert(waiting_.end(), bytes, bytes + some);
      bytes += some;
      size -= some;
      if (waiting_.size() == kTogether) flush();
    }
  }
  std::size_t size() const { return size_; }
  std::int64_t finish() {
    flush();
    return checksum_.value();
  }

 private:
  static constexpr std::size_t kTogether = std::size_t{1} << 20;  // the last may be shorter
  void flush() {
    checksum_.add(std::span<const std::uint8_t>(waiting_));
    file_.write(waiting_);
    waiting_.clear();
  }

  AtomicFile& file_;
  Checksum checksum_;
  std::size_t size_ = 0;
  std::vector<std::uint8_t> waiting_;
};

}  // namespace ria
