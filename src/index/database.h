// SPDX-License-Identifier: MIT
// SQLite with exceptions. (SQLite lives only in index/)
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ria {

class Database;

/// A prepared statement for one use: it is reset when this goes. Parameters are bound in order.
class Statement {
 public:
  Statement(const Database& database, sqlite3_stmt* statement);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(std::int64_t value);
  Statement& bind(double value);  ///< NaN is kept as NULL
  Statement& bind(std::string_view text);
  /// The bytes are not copied: they must stay until the last step().
  Statement& bind(std::span<const std::uint8_t> bytes);

  /// SQLite's code.
  int try_step();
  /// True: there is a row.
  bool step();
  /// For what gives no rows.
  void run() { step(); }

  std::int64_t integer(int column) const;
  /// Throws as a damaged file does unless it is in [low, high].
  int integer_in(int column, std::int64_t low, std::int64_t high) const;
  double real(int column) const;  ///< NULL: NaN
  std::string text(int column) const;
  /// Until the next step().
  std::span<const std::uint8_t> bytes(int column) const;
  /// As many values as there are whole.
  template <typename T>
  std::vector<T> values(int column) const {
    const std::span<const std::uint8_t> from = bytes(column);
    std::vector<T> to(from.size() / sizeof(T));
    if (!to.empty()) std::memcpy(to.data(), from.data(), to.size() * sizeof(T));
    return to;
  }

 private:
  const Database& database_;
  sqlite3_stmt* statement_;
  int bound_ = 0;
};

/// A connection. Not to be used by two threads at once.
class Database {
 public:
  enum class Mode {
    kMemory,  ///< no file
    kCreate,  ///< a new file that others may read while it grows
    kBuild,   ///< a new file that nobody else knows: without journal, and synced by the caller
    kWrite,
    kRead
  };
  /// `shown` is the name that messages give, where the file has another for now.
  Database(std::filesystem::path file, Mode mode, const std::filesystem::path& shown = {});
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::filesystem::path& file() const { return file_; }
  Mode mode() const { return mode_; }

  void run(const std::string& sql) const;
  /// `sql` is a constant: what was prepared for it is kept.
  Statement prepare(const char* sql) const;
  /// Part of a blob straight to where it belongs; throws as a damaged file does if it is shorter.
  void read_blob(const char* table,
                 std::int64_t row,
                 std::size_t offset,
                 std::span<std::uint8_t> to) const;
  std::size_t blob_size(const char* table, std::int64_t row) const;

  /// Bytes of the file itself, past what other connections have not yet brought there; false: it
  /// has none there.
  bool read_file(std::int64_t offset, std::span<std::uint8_t> to) const;
  int page_bytes() const;

  /// Changes whenever another connection has committed something.
  std::int64_t data_version() const;

  /// Everything in `body` sees one state, and is kept as a whole or not at all. Waits for others.
  /// Within another one it is part of that.
  void reading(const std::function<void()>& body) const;
  void writing(const std::function<void()>& body);

  [[noreturn]] void fail(int code) const;
  [[noreturn]] void damaged(const std::string& what) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
    void operator()(sqlite3_blob* blob) const { sqlite3_blob_close(blob); }
  };
  using Blob = std::unique_ptr<sqlite3_blob, Close>;

  void open(const std::string& name, int flags);
  void configure();
  void start_writing();
  void begin(const char* sql) const;
  Blob open_blob(const char* table, std::int64_t row) const;

  std::filesystem::path file_;
  std::string name_;  // in messages
  Mode mode_;
  bool writes_ = false;
  std::unique_ptr<sqlite3, Close> handle_;
  mutable std::map<const char*, std::unique_ptr<sqlite3_stmt, Close>> prepared_;
  mutable int page_bytes_ = 0;  // 0: not asked for yet
};

}  // namespace ria
