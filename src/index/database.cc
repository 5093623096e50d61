// SPDX-License-Identifier: MIT
#include "index/database.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

namespace ria {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kPatience{60'000};  // with other processes
constexpr int kPageBytes = 16384;  // small for a robot's additions, large for reading all of a map

/// What passes when others have finished what they do.
bool passes(int code) {
  const int primary = code & 0xff;
  return primary == SQLITE_BUSY || primary == SQLITE_LOCKED || primary == SQLITE_PROTOCOL;
}

}  // namespace

Statement::Statement(const Database& database, sqlite3_stmt* statement)
    : database_(database), statement_(statement) {}

Statement::~Statement() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Statement& Statement::bind(std::int64_t value) {
  sqlite3_bind_int64(statement_, ++bound_, value);
  return *this;
}

Statement& Statement::bind(double value) {
  sqlite3_bind_double(statement_, ++bound_, value);
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  sqlite3_bind_text64(statement_,
                      ++bound_,
                      text.data() ? text.data() : "",
                      text.size(),
                      SQLITE_TRANSIENT,
                      SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind(std::span<const std::uint8_t> bytes) {
  const int code =
      bytes.empty()
          ? sqlite3_bind_zeroblob(statement_, ++bound_, 0)
          : sqlite3_bind_blob64(statement_, ++bound_, bytes.data(), bytes.size(), SQLITE_STATIC);
  if (code != SQLITE_OK) database_.fail(code);
  return *this;
}

int Statement::try_step() { return sqlite3_step(statement_); }

bool Statement::step() {
  const int code = try_step();
  if (code != SQLITE_ROW && code != SQLITE_DONE) database_.fail(code);
  return code == SQLITE_ROW;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

int Statement::integer_in(int column, std::int64_t low, std::int64_t high) const {
  const std::int64_t value = integer(column);
  if (value < low || value > high) {
    database_.damaged(fmt::format("{} is {}, {} to {} was expected",
                                  sqlite3_column_name(statement_, column),
                                  value,
                                  low,
                                  high));
  }
  return static_cast<int>(value);
}

double Statement::real(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL
             ? std::nan("")
             : sqlite3_column_double(statement_, column);
}

std::string Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  const int size = sqlite3_column_bytes(statement_, column);
  return text == nullptr ? std::string() : std::string(text, static_cast<std::size_t>(size));
}

std::span<const std::uint8_t> Statement::bytes(int column) const {
  const auto* data = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_, column));
  const int size = sqlite3_column_bytes(statement_, column);
  if (data == nullptr && size > 0) database_.fail(SQLITE_NOMEM);
  return {data, data == nullptr ? 0 : static_cast<std::size_t>(size)};
}

Database::Database(fs::path file, Mode mode, const fs::path& shown)
    : file_(std::move(file)), name_((shown.empty() ? file_ : shown).string()), mode_(mode) {
  if (mode == Mode::kMemory) name_ = "the map in memory";
  constexpr int kNew = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  std::error_code ignored;
  switch (mode) {
    case Mode::kMemory:
      open(":memory:", kNew);
      break;
    case Mode::kCreate:
      if (fs::exists(file_, ignored)) {
        throw std::runtime_error(fmt::format("{} exists already", name_));
      }
      [[fallthrough]];
    case Mode::kBuild:
      open(file_.string(), kNew);
      break;
    case Mode::kWrite:
    case Mode::kRead:
      if (fs::is_directory(file_, ignored) || ::access(file_.c_str(), R_OK) != 0) {
        throw std::runtime_error(fmt::format("cannot read {}: {}",
                                             file_.string(),
                                             fs::is_directory(file_, ignored)
                                                 ? "it is a folder, a map was expected"
                                                 : std::strerror(errno)));
      }
      // Readers too: whoever is the last to close the map tidies up.
      open(file_.string(), SQLITE_OPEN_READWRITE);
      break;
  }
  configure();
}

Database::~Database() {
  prepared_.clear();
  if (!handle_ || mode_ == Mode::kMemory || mode_ == Mode::kBuild) return;
  // Alone, it leaves one file that can be read from anywhere; otherwise another does so later.
  sqlite3_busy_timeout(handle_.get(), 0);
  if (sqlite3_db_readonly(handle_.get(), "main") == 0) {
    sqlite3_exec(handle_.get(), "PRAGMA journal_mode = DELETE", nullptr, nullptr, nullptr);
  }
}

void Database::open(const std::string& name, int flags) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(
      name.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) fail(code);
}

void Database::configure() {
  sqlite3_busy_timeout(handle_.get(), static_cast<int>(kPatience.count()));
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  if (mode_ == Mode::kRead || mode_ == Mode::kWrite) return;
  run(fmt::format("PRAGMA page_size = {}", kPageBytes));
  if (mode_ == Mode::kBuild) run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
}

/// From now on in WAL mode: readers go on while this one writes.
void Database::start_writing() {
  run("PRAGMA secure_delete = OFF");
  writes_ = mode_ == Mode::kMemory || mode_ == Mode::kBuild;
  if (writes_) return;
  run("PRAGMA synchronous = EXTRA");  // a commit is on the disk when it returns
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    Statement pragma = prepare("PRAGMA journal_mode = WAL");
    const int code = pragma.try_step();
    if (code == SQLITE_ROW && pragma.text(0) == "wal") break;
    if (code != SQLITE_ROW && !passes(code)) fail(code);
    if (std::chrono::steady_clock::now() - start > kPatience) fail(SQLITE_BUSY);
    std::this_thread::sleep_for(milliseconds(5));
  }
  writes_ = true;
}

void Database::run(const std::string& sql) const {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

Statement Database::prepare(const char* sql) const {
  auto& kept = prepared_[sql];
  if (!kept) {
    sqlite3_stmt* statement = nullptr;
    const int code =
        sqlite3_prepare_v3(handle_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    kept.reset(statement);
    if (code != SQLITE_OK) fail(code);
  }
  return Statement(*this, kept.get());
}

Database::Blob Database::open_blob(const char* table, std::int64_t row) const {
  sqlite3_blob* blob = nullptr;
  const int code = sqlite3_blob_open(handle_.get(), "main", table, "data", row, 0, &blob);
  Blob owned(blob);
  if (code == SQLITE_ERROR) damaged(fmt::format("{} has no data of {}", table, row));
  if (code != SQLITE_OK) fail(code);
  return owned;
}

void Database::read_blob(const char* table,
                         std::int64_t row,
                         std::size_t offset,
                         std::span<std::uint8_t> to) const {
  const Blob blob = open_blob(table, row);
  const auto size = static_cast<std::size_t>(sqlite3_blob_bytes(blob.get()));
  if (offset > size || to.size() > size - offset) {
    damaged(fmt::format("{} {} is cut short", table, row));
  }
  const int code = sqlite3_blob_read(
      blob.get(), to.data(), static_cast<int>(to.size()), static_cast<int>(offset));
  if (code != SQLITE_OK) fail(code);
}

std::size_t Database::blob_size(const char* table, std::int64_t row) const {
  return static_cast<std::size_t>(sqlite3_blob_bytes(open_blob(table, row).get()));
}

/// By SQLite's own handle: a second one of this process would take its locks along when it closes.
bool Database::read_file(std::int64_t offset, std::span<std::uint8_t> to) const {
  sqlite3_file* handle = nullptr;
  sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_FILE_POINTER, &handle);
  if (handle == nullptr || handle->pMethods == nullptr) return false;
  return handle->pMethods->xRead(handle, to.data(), static_cast<int>(to.size()), offset) ==
         SQLITE_OK;
}

int Database::page_bytes() const {
  if (page_bytes_ == 0) {
    Statement pragma = prepare("PRAGMA page_size");
    pragma.step();
    page_bytes_ = pragma.integer_in(0, 512, 65536);
  }
  return page_bytes_;
}

std::int64_t Database::data_version() const {
  Statement pragma = prepare("PRAGMA data_version");
  pragma.step();
  return pragma.integer(0);
}

void Database::begin(const char* sql) const {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) {  // only the first look at the file takes the lock
      code = sqlite3_exec(
          handle_.get(), "SELECT count(*) FROM sqlite_schema", nullptr, nullptr, nullptr);
      if (code == SQLITE_OK) return;
      sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    }
    if (!passes(code) || std::chrono::steady_clock::now() - start > kPatience) fail(code);
    std::this_thread::sleep_for(milliseconds(5));
  }
}

void Database::reading(const std::function<void()>& body) const {
  if (mode_ == Mode::kMemory || sqlite3_get_autocommit(handle_.get()) == 0) return body();
  begin("BEGIN");
  try {
    body();
  } catch (...) {
    sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
  sqlite3_exec(handle_.get(), "COMMIT", nullptr, nullptr, nullptr);
}

void Database::writing(const std::function<void()>& body) {
  if (sqlite3_get_autocommit(handle_.get()) == 0) return body();
  if (!writes_) start_writing();
  begin("BEGIN IMMEDIATE");
  try {
    body();
    run("COMMIT");
  } catch (...) {
    sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

void Database::damaged(const std::string& what) const {
  throw std::runtime_error(fmt::format("{} is damaged: {}", name_, what));
}

void Database::fail(int code) const {
  const std::string& name = name_;
  const char* said = sqlite3_errstr(code);
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      throw std::runtime_error(name + " is no map of places");
    case SQLITE_CORRUPT:
      throw std::runtime_error(name + " is damaged: " + said);
    case SQLITE_FULL:
      throw std::runtime_error(name + ": the disk is full; the map is as it was");
    case SQLITE_NOMEM:
      throw std::bad_alloc();
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      throw std::runtime_error(fmt::format(
          "{}: another process has been busy with it for {} s", name, kPatience.count() / 1000));
    case SQLITE_READONLY:
    case SQLITE_PERM:
      throw std::runtime_error("cannot write " + name + ": " + said);
    case SQLITE_TOOBIG:
      throw std::runtime_error("cannot write " + name + ": one value is larger than a gigabyte");
    default: {
      const int error = handle_ ? sqlite3_system_errno(handle_.get()) : 0;
      throw std::runtime_error(
          fmt::format("cannot use {}: {}", name, error != 0 ? std::strerror(error) : said));
    }
  }
}

}  // namespace ria
