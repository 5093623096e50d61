// SPDX-License-Identifier: MIT
#include "optimise/work_log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "structure/checksum.h"

namespace ria {

namespace {

struct Start {
  std::uint64_t size;
  std::int64_t checksum;
};
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 32;

}  // namespace

WorkLog::WorkLog(std::filesystem::path file, const std::string& fingerprint)
    : file_(std::move(file)) {
  const std::span name(reinterpret_cast<const std::uint8_t*>(fingerprint.data()),
                       fingerprint.size());
  handle_.reset(std::fopen(file_.c_str(), "r+b"));
  std::vector<std::uint8_t> found;
  if (!handle_ || !read(found) || !std::ranges::equal(found, name)) {
    handle_.reset(std::fopen(file_.c_str(), "w+b"));
    if (!handle_) fail();
    append(name);
  }
  first_ = std::ftell(handle_.get());
}

void WorkLog::fail() const {
  throw std::runtime_error(
      fmt::format("cannot write {}: {}", file_.string(), std::strerror(errno)));
}

/// Leaves the position behind the last whole record.
bool WorkLog::read(std::vector<std::uint8_t>& record) {
  const long at = std::ftell(handle_.get());
  Start start{};
  if (std::fread(&start, sizeof start, 1, handle_.get()) == 1 && start.size < kMostBytes) {
    record.resize(start.size);
    if (std::fread(record.data(), 1, record.size(), handle_.get()) == record.size() &&
        Checksum().add(std::span<const std::uint8_t>(record)).value() == start.checksum) {
      return true;
    }
  }
  std::fseek(handle_.get(), at, SEEK_SET);
  return false;
}

bool WorkLog::next(std::vector<std::uint8_t>& record) { return read(record); }

void WorkLog::rewind() { std::fseek(handle_.get(), first_, SEEK_SET); }

void WorkLog::append(std::span<const std::uint8_t> record) {
  const Start start{record.size(), Checksum().add(record).value()};
  std::fseek(handle_.get(), std::ftell(handle_.get()), SEEK_SET);  // from reading to writing
  if (std::fwrite(&start, sizeof start, 1, handle_.get()) != 1 ||
      std::fwrite(record.data(), 1, record.size(), handle_.get()) != record.size() ||
      std::fflush(handle_.get()) != 0 ||
      ::ftruncate(fileno(handle_.get()), std::ftell(handle_.get())) != 0) {
    fail();
  }
}

void WorkLog::remove() {
  handle_.reset();
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
}

}  // namespace ria
