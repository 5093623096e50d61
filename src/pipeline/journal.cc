// SPDX-License-Identifier: MIT
#include "pipeline/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstring>

#include "ria/weights.h"
#include "util/files.h"

namespace ria {

namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kWriteEvery{2};
constexpr std::chrono::hours kForgetAfter{24 * 7};

/// Fixed part of a record on disk; record_floats values follow, then a checksum.
struct Head {
  std::int32_t picture, height, width;
};

std::uint64_t checksum(const std::uint8_t* bytes, std::size_t size) {
  std::uint64_t hash = 1469598103934665603ull;  // FNV-1a
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 1099511628211ull;
  return hash;
}

void forget_old(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const auto age = fs::file_time_type::clock::now() - entry.last_write_time(ignored);
    if (age > kForgetAfter) fs::remove(entry.path(), ignored);
  }
}

}  // namespace

Journal::Journal(const std::string& fingerprint, int record_floats)
    : record_floats_(record_floats) {
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
  descriptor_ = ::open(file_.c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
  if (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    ::close(descriptor_);  // another process is at the same work
    descriptor_ = -1;
    file_.clear();
  }
}

Journal::~Journal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::vector<Journal::Record> Journal::take(int total) {
  std::vector<Record> records;
  if (descriptor_ < 0) return records;
  const std::vector<std::uint8_t> bytes = read_bytes(file_);
  const std::size_t floats = static_cast<std::size_t>(record_floats_) * sizeof(float);
  const std::size_t size = sizeof(Head) + floats + sizeof(std::uint64_t);
  std::size_t at = 0;
  for (; at + size <= bytes.size(); at += size) {
    std::uint64_t sum = 0;
    std::memcpy(&sum, &bytes[at + size - sizeof sum], sizeof sum);
    if (sum != checksum(&bytes[at], size - sizeof sum)) break;
    Head head{};
    std::memcpy(&head, &bytes[at], sizeof head);
    if (head.picture < 0 || head.picture >= total) break;
    Record record{head.picture, {head.height, head.width}, std::vector<float>(record_floats_)};
    std::memcpy(record.values.data(), &bytes[at + sizeof head], floats);
    records.push_back(std::move(record));
  }
  // Whatever follows the last good record is cut off, so that appending stays in step.
  if (::ftruncate(descriptor_, static_cast<off_t>(at)) != 0) records.clear();
  return records;
}

void Journal::append(const Record& record) {
  const std::lock_guard lock(mutex_);
  if (file_.empty()) return;
  const Head head{record.picture, record.image_size[0], record.image_size[1]};
  const std::size_t begin = pending_.size();
  const auto put = [&](const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::uint8_t*>(data);
    pending_.insert(pending_.end(), bytes, bytes + size);
  };
  put(&head, sizeof head);
  put(record.values.data(), record.values.size() * sizeof(float));
  const std::uint64_t sum = checksum(&pending_[begin], pending_.size() - begin);
  put(&sum, sizeof sum);
  if (steady_clock::now() - last_write_ >= kWriteEvery) write_pending();
}

void Journal::flush() {
  const std::lock_guard lock(mutex_);
  write_pending();
}

void Journal::write_pending() {
  last_write_ = steady_clock::now();
  if (file_.empty() || pending_.empty()) return;
  if (descriptor_ < 0) {
    descriptor_ = ::open(file_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor_ >= 0) ::flock(descriptor_, LOCK_EX | LOCK_NB);
  }
  const ssize_t written =
      descriptor_ < 0 ? -1 : ::write(descriptor_, pending_.data(), pending_.size());
  if (written != static_cast<ssize_t>(pending_.size())) {
    // No room or no permission: without a journal the run still ends well.
    std::error_code ignored;
    fs::remove(file_, ignored);
    file_.clear();
  }
  pending_.clear();
}

void Journal::remove() {
  const std::lock_guard lock(mutex_);
  std::error_code ignored;
  if (descriptor_ >= 0) fs::remove(file_, ignored);
  pending_.clear();
  file_.clear();
}

}  // namespace ria
