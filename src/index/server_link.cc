// SPDX-License-Identifier: MIT
#include "index/server_link.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "archive/bytes.h"
#include "util/plugin.h"

namespace ria {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kBool = 16, kBytea = 17, kInt8 = 20, kInt2 = 21, kInt4 = 23, kText = 25,
                        kFloat4 = 700, kFloat8 = 701, kInt4Array = 1007, kTextArray = 1009;

/// Big-endian bytes.
template <typename T>
void put(std::string& out, T value) {
  auto bytes = std::bit_cast<std::array<char, sizeof(T)>>(value);
  if constexpr (std::endian::native == std::endian::little) std::ranges::reverse(bytes);
  out.append(bytes.data(), bytes.size());
}

template <typename T>
T get(std::string_view in) {
  std::array<char, sizeof(T)> bytes;
  std::ranges::copy(in.substr(0, sizeof(T)), bytes.begin());
  if constexpr (std::endian::native == std::endian::little) std::ranges::reverse(bytes);
  return std::bit_cast<T>(bytes);
}

template <typename T>
SqlValue plain(T value, std::uint32_t type) {
  SqlValue made;
  made.type = type;
  put(made.bytes, value);
  return made;
}

/// One dimension, no NULLs, counted from 1.
SqlValue array_of(std::size_t count, std::uint32_t of, std::uint32_t type) {
  SqlValue made;
  made.type = type;
  const auto size = static_cast<std::int32_t>(count);
  for (const std::int32_t field :
       {std::int32_t{1}, std::int32_t{0}, static_cast<std::int32_t>(of), size, std::int32_t{1}}) {
    put(made.bytes, field);
  }
  return made;
}

/// What another attempt to connect cannot change.
bool hopeless(const std::string& reason) {
  for (const char* part : {"authentication failed",
                           "does not exist",
                           "no pg_hba.conf entry",
                           "no password supplied",
                           "invalid "}) {
    if (reason.find(part) != reason.npos) return true;
  }
  return false;
}

/// A server that says of itself that it comes up or goes down.
bool on_its_way(const std::string& reason) {
  return reason.find("the database system is") != reason.npos;
}

}  // namespace

namespace sql {

SqlValue int2(std::int16_t value) { return plain(value, kInt2); }
SqlValue int4(std::int32_t value) { return plain(value, kInt4); }
SqlValue int8(std::int64_t value) { return plain(value, kInt8); }
SqlValue float4(float value) { return plain(value, kFloat4); }
SqlValue float8(double value) {
  SqlValue made = plain(value, kFloat8);
  made.null = std::isnan(value);
  return made;
}
SqlValue text(std::string_view value) { return {std::string(value), kText}; }
SqlValue bytes(std::span<const std::uint8_t> value) {
  return {std::string(value.begin(), value.end()), kBytea};
}
SqlValue boolean(bool value) { return plain(static_cast<char>(value ? 1 : 0), kBool); }

SqlValue int4_array(std::span<const int> values) {
  SqlValue made = array_of(values.size(), kInt4, kInt4Array);
  for (const std::int32_t value : values) {
    put(made.bytes, std::int32_t{sizeof value});
    put(made.bytes, value);
  }
  return made;
}

SqlValue text_array(const std::vector<std::string>& values) {
  SqlValue made = array_of(values.size(), kText, kTextArray);
  for (const std::string& value : values) {
    put(made.bytes, static_cast<std::int32_t>(value.size()));
    made.bytes += value;
  }
  return made;
}

CopyRows::CopyRows() : data_("PGCOPY\n\377\r\n\0", 11) { data_.append(8, '\0'); }

void CopyRows::add(std::span<const SqlValue> values) {
  put(data_, static_cast<std::int16_t>(values.size()));
  for (const SqlValue& value : values) {
    put(data_, value.null ? std::int32_t{-1} : static_cast<std::int32_t>(value.bytes.size()));
    if (!value.null) data_ += value.bytes;
  }
}

std::string_view CopyRows::finished() {
  put(data_, std::int16_t{-1});
  return data_;
}

}  // namespace sql

void ServerRows::wrong() const {
  throw std::runtime_error(*shown_ + " is damaged: a column is not as ria made it");
}

std::string_view ServerRows::bytes(int row, int column) const {
  const auto found = rows_->value(row, column);
  if (!found) wrong();
  return *found;
}

std::int64_t ServerRows::integer(int row, int column) const {
  const std::string_view found = bytes(row, column);
  switch (found.size()) {
    case 1:
      return found[0] != 0;
    case 2:
      return get<std::int16_t>(found);
    case 4:
      return get<std::int32_t>(found);
    case 8:
      return get<std::int64_t>(found);
    default:
      wrong();
  }
}

int ServerRows::integer_in(int row, int column, std::int64_t low, std::int64_t high) const {
  const std::int64_t value = integer(row, column);
  if (value < low || value > high) wrong();
  return static_cast<int>(value);
}

double ServerRows::real(int row, int column) const {
  if (null(row, column)) return std::numeric_limits<double>::quiet_NaN();
  const std::string_view found = bytes(row, column);
  if (found.size() == 4) return static_cast<double>(get<float>(found));
  if (found.size() != 8) wrong();
  return get<double>(found);
}

ServerLink::ServerLink(const ServerName& name, std::stop_token stop)
    : name_(name), stop_(std::move(stop)) {}

ServerLink::~ServerLink() = default;

void ServerLink::fail(const std::string& reason) const {
  throw std::runtime_error(fmt::format("{}: {}", name_.shown, name_.without_password(reason)));
}

void ServerLink::connect() {
  const auto& postgres = plugin<PostgresFunctions>(
      {"postgres", "opening " + name_.shown, "libpq", "apt-get install libpq5"});
  SqlConnection made = postgres.connect(name_.url, stop_);
  if (made.answer.end == SqlEnd::kStopped) throw LinkStopped();
  if (!made.session) {
    const std::string reason = printable(name_.without_password(made.answer.reason));
    if ((was_there_ && !hopeless(reason)) || on_its_way(reason)) throw LinkLost{false, reason};
    fail(reason);
  }
  session_ = std::move(made.session);
  was_there_ = true;
  if (greeting_) greeting_();
}

void ServerLink::wait(std::chrono::milliseconds time) const {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
    if (stop_.stop_requested()) throw LinkStopped();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::unique_ptr<SqlRows> ServerLink::take(SqlAnswer answer) {
  const std::string reason = printable(answer.reason);
  switch (answer.end) {
    case SqlEnd::kDone:
      return std::move(answer.rows);
    case SqlEnd::kStopped:
      session_.reset();
      throw LinkStopped();
    case SqlEnd::kRefused:
      fail(reason);
    case SqlEnd::kBusy:
    case SqlEnd::kBroken:
      break;
  }
  throw LinkLost{answer.end == SqlEnd::kBusy, reason};
}

ServerRows ServerLink::ask(const std::string& sql, std::span<const SqlValue> values) {
  return {take(session_->ask(sql, values)), name_.shown};
}
void ServerLink::run(const std::string& sql) { take(session_->run(sql)); }
void ServerLink::copy(const std::string& sql, std::string_view data) {
  take(session_->copy(sql, data));
}

void ServerLink::attempt(const std::function<void()>& body) {
  const auto end = Clock::now() + std::chrono::seconds(name_.retry_seconds);
  for (std::chrono::milliseconds pause(100);; pause = std::min(pause * 2, decltype(pause)(5000))) {
    try {
      if (!session_) connect();
      return body();
    } catch (const LinkLost& lost) {
      if (!lost.connected) session_.reset();
      if (Clock::now() + pause > end) {
        fail(fmt::format(
            "the server was lost and waited for, {} s: {}", name_.retry_seconds, lost.reason));
      }
    }
    wait(pause);
  }
}

void ServerLink::transaction(const std::function<void()>& body) {
  attempt([&] {
    run("BEGIN");
    try {
      body();
      run("COMMIT");
    } catch (const LinkLost& lost) {
      if (lost.connected) run("ROLLBACK");
      throw;
    } catch (...) {
      if (session_) session_->run("ROLLBACK");
      throw;
    }
  });
}

}  // namespace ria
