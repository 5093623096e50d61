// SPDX-License-Identifier: MIT
// What a run has done so far, in a file that grows by whole records.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ria {

class WorkLog {
 public:
  /// Goes on with a file that begins with this fingerprint, or begins anew. What a killed run left
  /// of its last record is cut off. Throws std::runtime_error naming the file.
  WorkLog(std::filesystem::path file, const std::string& fingerprint);

  /// The records so far, from the first; false: there is no further one.
  bool next(std::vector<std::uint8_t>& record);
  void rewind();
  /// Behind all that next() has shown.
  void append(std::span<const std::uint8_t> record);
  /// The work is done.
  void remove();

 private:
  [[noreturn]] void fail() const;
  bool read(std::vector<std::uint8_t>& record);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::filesystem::path file_;
  std::unique_ptr<std::FILE, Close> handle_;
  long first_ = 0;  // position of the first record
};

}  // namespace ria
