// SPDX-License-Identifier: MIT
#include "fetch/partial_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "util/files.h"
#include "util/json.h"

namespace ria {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

fs::path with_ending(fs::path file, const char* ending) { return file += ending; }

}  // namespace

PartialFile::PartialFile(fs::path target, std::string url)
    : target_(std::move(target)),
      file_(with_ending(target_, ".partial")),
      record_(with_ending(target_, ".partial.json")),
      url_(std::move(url)) {
  descriptor_ = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail();
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    ::close(descriptor_);
    throw std::runtime_error(
        fmt::format("{} is being downloaded by another process", target_.string()));
  }
  sha_.emplace();
  try {
    take_up();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

PartialFile::~PartialFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void PartialFile::fail() const {
  const int error = errno;
  throw std::runtime_error(
      fmt::format("cannot write {}: {}", file_.string(), std::strerror(error)));
}

void PartialFile::take_up() {
  json record;
  std::error_code error;
  if (fs::is_regular_file(record_, error)) {
    record = json::parse(read_text(record_), nullptr, false);
  }
  const auto text = [&](const char* key) {
    const bool there = record.is_object() && record.contains(key) && record[key].is_string();
    return there ? record[key].get<std::string>() : std::string();
  };
  const std::string validator = text("validator");
  const bool clean = validator.find_first_of("\r\n") == std::string::npos;
  if (text("url") != url_ || validator.empty() || !clean) return start_over("");
  validator_ = validator;
  sha_->add_file(file_);
  struct stat found {};
  if (::fstat(descriptor_, &found) != 0) fail();
  size_ = static_cast<std::uint64_t>(found.st_size);
}

void PartialFile::start_over(const std::string& validator) {
  if (::ftruncate(descriptor_, 0) != 0) fail();
  size_ = 0;
  sha_.emplace();
  validator_ = validator;
  if (validator.empty()) {
    std::error_code ignored;
    fs::remove(record_, ignored);
  } else {
    write_text(record_, json_text(json{{"url", url_}, {"validator", validator}}) + "\n");
  }
}

void PartialFile::append(std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail();
    const auto count = static_cast<std::size_t>(written);
    sha_->add(bytes.first(count));
    size_ += count;
    bytes = bytes.subspan(count);
  }
}

void PartialFile::finish() {
  if (::fsync(descriptor_) != 0) fail();
  if (std::rename(file_.c_str(), target_.c_str()) != 0) fail();
  std::error_code ignored;
  fs::remove(record_, ignored);
}

void PartialFile::discard() {
  std::error_code ignored;
  fs::remove(file_, ignored);
  fs::remove(record_, ignored);
}

}  // namespace ria
