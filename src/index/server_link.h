// SPDX-License-Identifier: MIT
// The way to a server: connected when it is needed and again when it was lost.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <stdexcept>

#include "index/server_name.h"
#include "index/sql_session.h"

namespace ria {

/// Values in PostgreSQL's binary form.
namespace sql {

SqlValue int2(std::int16_t value);
SqlValue int4(std::int32_t value);
SqlValue int8(std::int64_t value);
SqlValue float4(float value);
SqlValue float8(double value);  ///< NaN is kept as NULL
SqlValue text(std::string_view value);
SqlValue bytes(std::span<const std::uint8_t> value);
SqlValue boolean(bool value);
SqlValue int4_array(std::span<const int> values);
SqlValue text_array(const std::vector<std::string>& values);

/// The rows of COPY (FORMAT binary).
class CopyRows {
 public:
  CopyRows();
  void add(std::span<const SqlValue> values);
  std::string_view finished();

 private:
  std::string data_;
};

}  // namespace sql

/// The rows of an answer; what is not as the statement promises is the server's fault.
class ServerRows {
 public:
  ServerRows(std::unique_ptr<SqlRows> rows, const std::string& shown)
      : rows_(std::move(rows)), shown_(&shown) {}

  int count() const { return rows_ ? rows_->count() : 0; }
  bool null(int row, int column) const { return !rows_->value(row, column); }
  std::int64_t integer(int row, int column) const;  ///< int2, int4, int8, boolean
  int integer_in(int row, int column, std::int64_t low, std::int64_t high) const;
  double real(int row, int column) const;  ///< float4, float8; NULL: NaN
  std::string_view bytes(int row, int column) const;
  std::string text(int row, int column) const { return std::string(bytes(row, column)); }

 private:
  [[noreturn]] void wrong() const;
  std::unique_ptr<SqlRows> rows_;
  const std::string* shown_;
};

/// Thrown within an attempt that is made again.
struct LinkLost {
  bool connected;  ///< only the transaction is lost
  std::string reason;
};

/// Thrown when a stop was requested.
struct LinkStopped {};

/// For one thread at a time. Throws std::runtime_error with the name and what the server said.
class ServerLink {
 public:
  /// Connects at the first attempt(). A server that was not there yet is not waited for.
  ServerLink(const ServerName& name, std::stop_token stop);
  ~ServerLink();

  const ServerName& name() const { return name_; }
  /// Called on every new connection.
  void set_greeting(std::function<void()> greeting) { greeting_ = std::move(greeting); }

  ServerRows ask(const std::string& sql, std::span<const SqlValue> values = {});
  ServerRows ask(const std::string& sql, std::initializer_list<SqlValue> values) {
    return ask(sql, std::span(values.begin(), values.size()));
  }
  void run(const std::string& sql);
  void copy(const std::string& sql, std::string_view data);

  /// Calls body until it has not lost the server; what it does must bear being done again.
  void attempt(const std::function<void()>& body);
  /// The same within a transaction.
  void transaction(const std::function<void()>& body);

  /// Once, if there is a connection; whatever becomes of it.
  void say(const std::string& sql) {
    if (session_) session_->run(sql);
  }

  [[noreturn]] void fail(const std::string& reason) const;

 private:
  std::unique_ptr<SqlRows> take(SqlAnswer answer);
  void connect();
  void wait(std::chrono::milliseconds time) const;

  ServerName name_;
  std::stop_token stop_;
  std::function<void()> greeting_;
  std::unique_ptr<SqlSession> session_;
  bool was_there_ = false;
};

}  // namespace ria
