// SPDX-License-Identifier: MIT
#include "util/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace ria {

namespace fs = std::filesystem;

namespace {

std::runtime_error read_error(const fs::path& file, const std::string& reason) {
  return std::runtime_error("cannot read " + file.string() + ": " + reason);
}

}  // namespace

std::vector<std::uint8_t> read_bytes(const fs::path& file) {
  if (fs::is_directory(file)) throw read_error(file, "it is a folder, a file was expected");
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) throw read_error(file, std::strerror(errno));
  const std::streamoff size = in.tellg();
  std::vector<std::uint8_t> bytes(size > 0 ? static_cast<std::size_t>(size) : 0);
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!in) throw read_error(file, "cut short while reading");
  return bytes;
}

std::string read_text(const fs::path& file) {
  const std::vector<std::uint8_t> bytes = read_bytes(file);
  return {bytes.begin(), bytes.end()};
}

AtomicFile::AtomicFile(fs::path file, Durability durability)
    : file_(std::move(file)), durability_(durability) {
  if (file_.empty() || fs::is_directory(file_)) {
    errno = file_.empty() ? ENOENT : EISDIR;
    fail("cannot write");
  }
  const fs::path folder = file_.has_parent_path() ? file_.parent_path() : fs::path(".");
  std::string pattern = (folder / ("." + file_.filename().string() + ".XXXXXX")).string();
  const auto held = hold_temporaries();
  const int descriptor = ::mkstemp(pattern.data());
  if (descriptor < 0) fail("cannot create");
  temporary_.emplace(pattern);
  ::fchmod(descriptor, 0644);
  handle_ = ::fdopen(descriptor, "wb");
  if (handle_ == nullptr) fail("cannot create");
}

AtomicFile::~AtomicFile() {
  if (handle_ != nullptr) std::fclose(handle_);
}

void AtomicFile::fail(const char* what) const {
  const int error = errno;
  throw std::runtime_error(std::string(what) + " " + file_.string() + ": " + std::strerror(error));
}

void AtomicFile::write(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return;
  if (std::fwrite(bytes.data(), 1, bytes.size(), handle_) != bytes.size()) fail("cannot write");
}

void AtomicFile::write(std::string_view text) {
  write({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

void AtomicFile::sync() {
  // Space may run out as late as here; fsync makes the rename mean what it says.
  if (std::fflush(handle_) != 0 || ::fsync(::fileno(handle_)) != 0) fail("cannot write");
}

void AtomicFile::commit() {
  if (durability_ == Durability::kSynced) sync();
  std::FILE* handle = handle_;
  handle_ = nullptr;
  if (std::fclose(handle) != 0) fail("cannot write");
  const auto held = hold_temporaries();
  if (std::rename(temporary().c_str(), file_.c_str()) != 0) fail("cannot write");
  temporary_->keep();
}

void check_writable(const fs::path& file) { AtomicFile probe(file); }

void write_text(const fs::path& file, std::string_view text) {
  AtomicFile out(file);
  out.write(text);
  out.commit();
}

}  // namespace ria
