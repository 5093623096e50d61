// SPDX-License-Identifier: MIT
#include "pipeline/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <span>
#include <utility>

#include "ria/weights.h"
#include "util/hash.h"
#include "util/temporary.h"

namespace ria {

namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kWriteEvery{2};
constexpr std::chrono::hours kForgetAfter{24 * 7};
constexpr std::size_t kWriteAt = 4 << 20;  // bytes that wait at most
// Begins the file; another version of the format is another word.
constexpr char kMagic[] = {'r', 'i', 'a', ' ', 'l', 'o', 'g', '3'};

/// Fixed part of a record on disk; so many values follow, then a checksum of both.
struct Head {
  std::int32_t picture;
  std::uint32_t values;
};

/// FNV-1a
std::uint64_t checksum(const void* data,
                       std::size_t size,
                       std::uint64_t hash = 1469598103934665603ull) {
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 1099511628211ull;
  return hash;
}

std::span<const std::uint8_t> bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(float)};
}

bool read_at(int descriptor, std::uint64_t offset, void* data, std::size_t size) {
  auto* out = static_cast<std::uint8_t*>(data);
  while (size > 0) {
    const ssize_t count = ::pread(descriptor, out, size, static_cast<off_t>(offset));
    if (count <= 0) return false;
    out += count;
    offset += static_cast<std::uint64_t>(count);
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

std::uint64_t size_of(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

/// The record at `offset`, which moves behind it; false where there is no whole one.
bool read_record(int descriptor, std::uint64_t size, std::uint64_t& offset, Journal::Record& out) {
  Head head{};
  std::uint64_t sum = 0;
  if (size - offset < sizeof head + sizeof sum) return false;
  if (!read_at(descriptor, offset, &head, sizeof head)) return false;
  const std::uint64_t floats = std::uint64_t{head.values} * sizeof(float);
  if (size - offset - sizeof head - sizeof sum < floats) return false;
  out.picture = head.picture;
  out.values.resize(head.values);
  if (!read_at(descriptor, offset + sizeof head, out.values.data(), floats) ||
      !read_at(descriptor, offset + sizeof head + floats, &sum, sizeof sum)) {
    return false;
  }
  if (sum != checksum(out.values.data(), floats, checksum(&head, sizeof head))) return false;
  offset += sizeof head + floats + sizeof sum;
  return true;
}

/// Opens for this process alone; -1 if that cannot be.
int open_locked(const fs::path& file, int flags) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | flags, 0644);
  if (descriptor >= 0 && ::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    ::close(descriptor);
    return -1;
  }
  return descriptor;
}

void forget_old(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const auto age = fs::file_time_type::clock::now() - entry.last_write_time(ignored);
    if (age > kForgetAfter) fs::remove(entry.path(), ignored);
  }
}

}  // namespace

std::string run_fingerprint(std::string what, const std::vector<fs::path>& pictures) {
  for (const fs::path& picture : pictures) {
    std::error_code error;
    const auto size = fs::file_size(picture, error);
    const auto time = fs::last_write_time(picture, error).time_since_epoch().count();
    what += fmt::format(
        "\n{} {} {}", fs::absolute(picture, error).string(), error ? 0 : size, error ? 0 : time);
  }
  return sha256_text(what).substr(0, 32);
}

Journal::Journal(const std::string& fingerprint) {
  fs::path folder;
  try {
    folder = cache_folder() / "unfinished";
  } catch (const std::runtime_error&) {
    return;  // no home, no journal
  }
  std::error_code error;
  fs::create_directories(folder, error);
  forget_old(folder);
  file_ = folder / (fingerprint + ".partial");
  // Not created before there is something to write: most runs end before that.
  if (!fs::exists(file_, error)) return;
  descriptor_ = open_locked(file_, 0);
  if (descriptor_ < 0) file_.clear();  // another process is at the same work
}

Journal::~Journal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Journal::take(int total, const std::function<void(Record&&)>& visit) {
  if (descriptor_ < 0) return;
  const std::uint64_t size = size_of(descriptor_);
  char magic[sizeof kMagic] = {};
  std::uint64_t at = 0;
  if (read_at(descriptor_, 0, magic, sizeof magic) &&
      std::memcmp(magic, kMagic, sizeof magic) == 0) {
    at = sizeof kMagic;
    Record record;
    for (std::uint64_t next = at; read_record(descriptor_, size, next, record); at = next) {
      if (record.picture < 0 || record.picture >= total) break;
      visit(std::move(record));
    }
  }
  // Whatever follows the last good record is cut off, so that appending stays in step.
  const std::lock_guard lock(mutex_);
  written_ = at;
  if (::ftruncate(descriptor_, static_cast<off_t>(at)) != 0) give_up();
}

void Journal::append(const Record& record) {
  const std::lock_guard lock(mutex_);
  if (file_.empty()) return;
  put(record);
  if (steady_clock::now() - last_write_ >= kWriteEvery) write_pending();
}

/// Short records wait for others; long ones are written as they stand, without another copy.
void Journal::put(const Record& record) {
  const Head head{record.picture, static_cast<std::uint32_t>(record.values.size())};
  const auto values = bytes_of(record.values);
  const std::uint64_t sum = checksum(values.data(), values.size(), checksum(&head, sizeof head));
  const auto wait = [&](const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::uint8_t*>(data);
    pending_.insert(pending_.end(), bytes, bytes + size);
  };
  if (pending_.size() + values.size() > kWriteAt) write_pending();
  wait(&head, sizeof head);
  if (values.size() > kWriteAt) {
    write_pending();
    write_through(values.data(), values.size());
  } else {
    wait(values.data(), values.size());
  }
  wait(&sum, sizeof sum);
}

void Journal::rewrite(const std::function<bool(Record&)>& next) {
  const std::lock_guard lock(mutex_);
  write_pending();
  if (file_.empty()) return;
  const fs::path old_file = std::exchange(file_, file_.string() + ".new");
  const fs::path new_file = file_;
  const int old_descriptor = std::exchange(descriptor_, -1);
  const std::uint64_t old_written = std::exchange(written_, 0);
  std::error_code error;
  fs::remove(new_file, error);
  Temporary unfinished(new_file);
  for (Record record; !file_.empty() && next(record);) put(record);
  write_pending();
  if (!file_.empty() && descriptor_ >= 0) fs::rename(new_file, old_file, error);
  const bool replaced = !file_.empty() && descriptor_ >= 0 && !error;
  if (replaced) unfinished.keep();
  const int unused = replaced ? old_descriptor : std::exchange(descriptor_, old_descriptor);
  if (unused >= 0) ::close(unused);
  if (!replaced) written_ = old_written;
  file_ = old_file;
}

void Journal::flush() {
  const std::lock_guard lock(mutex_);
  write_pending();
}

void Journal::write_pending() {
  last_write_ = steady_clock::now();
  if (pending_.empty()) return;
  write_through(pending_.data(), pending_.size());
  pending_.clear();
}

void Journal::write_through(const void* data, std::size_t size) {
  if (file_.empty()) return;
  if (descriptor_ < 0) descriptor_ = open_locked(file_, O_CREAT);
  if (descriptor_ < 0) return give_up();
  if (written_ == 0) {
    if (::ftruncate(descriptor_, 0) != 0 ||
        ::write(descriptor_, kMagic, sizeof kMagic) != sizeof kMagic) {
      return give_up();
    }
    written_ = sizeof kMagic;
  }
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  while (size > 0) {
    const ssize_t count = ::write(descriptor_, bytes, size);
    if (count <= 0) return give_up();
    bytes += count;
    written_ += static_cast<std::uint64_t>(count);
    size -= static_cast<std::size_t>(count);
  }
}

/// No room or no permission: without a journal the run still ends well.
void Journal::give_up() {
  std::error_code ignored;
  fs::remove(file_, ignored);
  file_.clear();
}

void Journal::remove() {
  const std::lock_guard lock(mutex_);
  std::error_code ignored;
  if (descriptor_ >= 0) fs::remove(file_, ignored);
  pending_.clear();
  file_.clear();
}

std::uint64_t Journal::bytes() const {
  const std::lock_guard lock(mutex_);
  return written_ + pending_.size();
}

}  // namespace ria
