// SPDX-License-Identifier: MIT
#include <libpq-fe.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <map>

#include "index/sql_session.h"
#include "util/plugin.h"

namespace ria {

namespace {

constexpr int kConnectSeconds = 20;
constexpr int kWaitMs = 100;  // between two looks at the stop
constexpr std::size_t kPiece = 1 << 20;

struct Close {
  void operator()(PGconn* connection) const { PQfinish(connection); }
  void operator()(PGresult* result) const { PQclear(result); }
  void operator()(PGcancel* cancel) const { PQfreeCancel(cancel); }
};
using Connection = std::unique_ptr<PGconn, Close>;
using Answered = std::unique_ptr<PGresult, Close>;

class Rows final : public SqlRows {
 public:
  explicit Rows(Answered result) : result_(std::move(result)) {}
  int count() const override { return PQntuples(result_.get()); }
  std::optional<std::string_view> value(int row, int column) const override {
    if (column >= PQnfields(result_.get()) || PQgetisnull(result_.get(), row, column)) return {};
    return std::string_view(PQgetvalue(result_.get(), row, column),
                            static_cast<std::size_t>(PQgetlength(result_.get(), row, column)));
  }

 private:
  Answered result_;
};

/// What a SQLSTATE means for another attempt: 08: connections, 57P0x: the server goes down or comes
/// up, 53300: too many are connected, 40: another transaction was in the way.
SqlEnd end_of(std::string_view state, bool stands) {
  if (!stands || state.starts_with("08") || state.starts_with("57P0") || state == "53300") {
    return SqlEnd::kBroken;
  }
  return state.starts_with("40") ? SqlEnd::kBusy : SqlEnd::kRefused;
}

/// Without "ERROR:" and what follows the first line.
std::string first_line(const char* text) {
  const std::string_view whole(text == nullptr ? "" : text);
  return std::string(whole.substr(0, whole.find('\n')));
}

class Session final : public SqlSession {
 public:
  Session(Connection connection, std::stop_token stop)
      : connection_(std::move(connection)), stop_(std::move(stop)) {
    PQsetNoticeReceiver(
        connection_.get(), [](void*, const PGresult*) {}, nullptr);
  }

  SqlAnswer ask(const std::string& sql, std::span<const SqlValue> values) override {
    const auto found = prepared_.find(sql);
    if (found != prepared_.end()) return ask_prepared(found->second, values);
    const std::string name = name_ + std::to_string(prepared_.size());
    std::vector<Oid> types;
    for (const SqlValue& value : values) types.push_back(value.type);
    if (PQsendPrepare(connection_.get(),
                      name.c_str(),
                      sql.c_str(),
                      static_cast<int>(types.size()),
                      types.data()) == 0) {
      return lost();
    }
    SqlAnswer made = finish();
    if (made.end != SqlEnd::kDone) return made;
    prepared_[sql] = name;
    return ask_prepared(name, values);
  }

  SqlAnswer run(const std::string& sql) override {
    return PQsendQuery(connection_.get(), sql.c_str()) == 0 ? lost() : finish();
  }

  SqlAnswer copy(const std::string& sql, std::string_view data) override {
    if (PQsendQuery(connection_.get(), sql.c_str()) == 0) return lost();
    if (!wait_for_answer()) return stopped();
    const Answered begun(PQgetResult(connection_.get()));
    if (PQresultStatus(begun.get()) != PGRES_COPY_IN) {
      SqlAnswer refused = answer_of(begun.get());
      finish();
      return refused;
    }
    const char* why = nullptr;
    for (std::size_t at = 0; at < data.size() && why == nullptr; at += kPiece) {
      if (stop_.stop_requested()) why = "stopped";
      const std::string_view piece = data.substr(at, kPiece);
      if (why == nullptr && !put(piece)) return lost();
    }
    if (PQputCopyEnd(connection_.get(), why) < 0) return lost();
    SqlAnswer ended = finish();
    if (why != nullptr && ended.end == SqlEnd::kRefused) ended.end = SqlEnd::kStopped;
    return ended;
  }

 private:
  SqlAnswer ask_prepared(const std::string& name, std::span<const SqlValue> values) {
    std::vector<const char*> bytes;
    std::vector<int> lengths, formats(values.size(), 1);
    for (const SqlValue& value : values) {
      bytes.push_back(value.null ? nullptr : value.bytes.data());
      lengths.push_back(static_cast<int>(value.bytes.size()));
    }
    if (PQsendQueryPrepared(connection_.get(),
                            name.c_str(),
                            static_cast<int>(values.size()),
                            bytes.data(),
                            lengths.data(),
                            formats.data(),
                            1) == 0) {
      return lost();
    }
    return finish();
  }

  bool put(std::string_view piece) {
    return PQputCopyData(connection_.get(), piece.data(), static_cast<int>(piece.size())) == 1;
  }

  SqlAnswer lost() {
    return {SqlEnd::kBroken, "", first_line(PQerrorMessage(connection_.get())), nullptr};
  }

  SqlAnswer answer_of(const PGresult* result) {
    const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    SqlAnswer answer;
    answer.state = state == nullptr ? "" : state;
    answer.end = end_of(answer.state, PQstatus(connection_.get()) == CONNECTION_OK);
    answer.reason = first_line(message != nullptr ? message : PQerrorMessage(connection_.get()));
    return answer;
  }

  /// False: a stop was requested.
  bool wait_for_answer() {
    while (PQisBusy(connection_.get()) != 0) {
      if (stop_.stop_requested()) return false;
      pollfd ready{PQsocket(connection_.get()), POLLIN, 0};
      if (PQflush(connection_.get()) == 1) ready.events |= POLLOUT;
      if (::poll(&ready, 1, kWaitMs) > 0 && PQconsumeInput(connection_.get()) == 0) return true;
    }
    return true;
  }

  SqlAnswer stopped() {
    const std::unique_ptr<PGcancel, Close> cancel(PQgetCancel(connection_.get()));
    std::array<char, 256> ignored{};
    if (cancel) PQcancel(cancel.get(), ignored.data(), static_cast<int>(ignored.size()));
    return {SqlEnd::kStopped, "", "stopped", nullptr};
  }

  /// The last rows of what was sent, or the first thing that went wrong.
  SqlAnswer finish() {
    SqlAnswer answer;
    bool failed = false;
    for (;;) {
      if (!wait_for_answer()) return stopped();
      Answered result(PQgetResult(connection_.get()));
      if (!result) break;
      const ExecStatusType status = PQresultStatus(result.get());
      if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
        if (!failed) answer.rows = std::make_unique<Rows>(std::move(result));
      } else if (!failed) {
        failed = true;
        answer = answer_of(result.get());
      }
      if (PQstatus(connection_.get()) != CONNECTION_OK) break;
    }
    if (!failed && PQstatus(connection_.get()) != CONNECTION_OK) return lost();
    return answer;
  }

  /// No other session of a server has the like, even where all share one process.
  static std::string own_name() {
    static std::atomic<int> sessions = 0;
    return "ria_" + std::to_string(::getpid()) + "_" + std::to_string(++sessions) + "_";
  }

  Connection connection_;
  std::stop_token stop_;
  const std::string name_ = own_name();
  std::map<std::string, std::string> prepared_;
};

enum class Connecting { kEnded, kStopped, kLate };

/// Waits for the server without losing sight of the stop.
Connecting complete(PGconn* connection, const std::stop_token& stop) {
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(kConnectSeconds);
  for (PostgresPollingStatusType next = PGRES_POLLING_WRITING;;) {
    if (next == PGRES_POLLING_OK || next == PGRES_POLLING_FAILED) return Connecting::kEnded;
    if (stop.stop_requested()) return Connecting::kStopped;
    if (std::chrono::steady_clock::now() > latest) return Connecting::kLate;
    const short events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    pollfd ready{PQsocket(connection), events, 0};
    if (::poll(&ready, 1, kWaitMs) > 0) next = PQconnectPoll(connection);
  }
}

SqlConnection connect(const std::string& url, const std::stop_token& stop) {
  // What the name says counts more than what stands before it.
  const std::array<const char*, 5> keys = {
      "fallback_application_name", "keepalives_idle", "dbname", "client_encoding", nullptr};
  const std::array<const char*, 5> values = {"ria", "30", url.c_str(), "UTF8", nullptr};
  Connection connection(PQconnectStartParams(keys.data(), values.data(), 1));
  if (!connection) return {nullptr, {SqlEnd::kRefused, "", "libpq cannot start", nullptr}};
  if (PQstatus(connection.get()) != CONNECTION_BAD) {
    switch (complete(connection.get(), stop)) {
      case Connecting::kStopped:
        return {nullptr, {SqlEnd::kStopped, "", "stopped", nullptr}};
      case Connecting::kLate:
        return {nullptr, {SqlEnd::kBroken, "", "the server does not answer", nullptr}};
      case Connecting::kEnded:
        break;
    }
  }
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    return {nullptr, {SqlEnd::kBroken, "", first_line(PQerrorMessage(connection.get())), nullptr}};
  }
  return {std::make_unique<Session>(std::move(connection), stop), {}};
}

constexpr PostgresFunctions kFunctions{connect};

}  // namespace

}  // namespace ria

RIA_PLUGIN(postgres, ria::kFunctions)
