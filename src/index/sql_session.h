// SPDX-License-Identifier: MIT
// A connection to a PostgreSQL server, held by the plugin of libpq.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace ria {

enum class SqlEnd {
  kDone,
  kRefused,  ///< another attempt would end in the same way
  kBusy,     ///< the connection stands, and another attempt is worth it: a deadlock
  kBroken,   ///< the connection is lost, or could not be made
  kStopped,
};

/// The rows of an answer, in PostgreSQL's binary form.
class SqlRows {
 public:
  virtual ~SqlRows() = default;
  virtual int count() const = 0;
  /// Of this object; nothing: NULL.
  virtual std::optional<std::string_view> value(int row, int column) const = 0;
};

struct SqlAnswer {
  SqlEnd end = SqlEnd::kDone;
  std::string state;   ///< SQLSTATE of what went wrong, where the server said one
  std::string reason;  ///< as the server said it; it may hold anything
  std::unique_ptr<SqlRows> rows;
};

/// A parameter in binary form and its type; 0: the server says which.
struct SqlValue {
  std::string bytes;
  std::uint32_t type = 0;
  bool null = false;
};

/// For one thread at a time. Everything returns soon after a stop was requested; the statement is
/// cancelled then.
class SqlSession {
 public:
  virtual ~SqlSession() = default;
  /// One statement, prepared the first time and kept by its text.
  virtual SqlAnswer ask(const std::string& sql, std::span<const SqlValue> values) = 0;
  /// Statements without parameters, together.
  virtual SqlAnswer run(const std::string& sql) = 0;
  /// COPY ... FROM STDIN.
  virtual SqlAnswer copy(const std::string& sql, std::string_view data) = 0;
};

struct SqlConnection {
  std::unique_ptr<SqlSession> session;  ///< none: see `answer`
  SqlAnswer answer;
};

/// What libria-postgres.so offers.
struct PostgresFunctions {
  SqlConnection (*connect)(const std::string& url, const std::stop_token& stop);
};

}  // namespace ria
