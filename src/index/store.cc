// SPDX-License-Identifier: MIT
// Opening, the header, what was fitted.
#include "index/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "structure/checksum.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

constexpr int kApplication = 0x7269616d;  // "riam"
constexpr int kFormat = 1;
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
constexpr int kMostDims = 1 << 24;

/// Every table, as SQLite gives it back, in the order that VACUUM leaves too. Checksums are of all
/// other columns of a row.
constexpr const char* kTables[] = {
    "CREATE TABLE header (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE fitted (name TEXT PRIMARY KEY, height INTEGER NOT NULL, width INTEGER NOT NULL, "
    "data BLOB NOT NULL, checksum INTEGER NOT NULL)",
    "CREATE TABLE place (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, stamp REAL, x "
    "REAL, y REAL, utm_zone INTEGER NOT NULL, heading REAL, checksum INTEGER NOT NULL)",
    "CREATE TABLE local (id INTEGER PRIMARY KEY, dim INTEGER NOT NULL, grid_height INTEGER NOT "
    "NULL, grid_width INTEGER NOT NULL, data BLOB NOT NULL, checksum INTEGER NOT NULL)",
    "CREATE TABLE tail (id INTEGER PRIMARY KEY, scale REAL NOT NULL, data BLOB NOT NULL, checksum "
    "INTEGER NOT NULL)",
    "CREATE TABLE block (id INTEGER PRIMARY KEY, last INTEGER NOT NULL, dead INTEGER NOT NULL, "
    "places BLOB NOT NULL, scales BLOB NOT NULL, checksum INTEGER NOT NULL)",
    "CREATE TABLE block_row (id INTEGER PRIMARY KEY, data BLOB NOT NULL)",
    "CREATE INDEX place_name ON place (name)",
};

/// Maps were safetensors files once.
bool is_old_index(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string start(4096, '\0');
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, in.gcount())));
  return start.size() > 9 && start[8] == '{' && start.find("\"ria-index-") != start.npos;
}

std::int64_t checksum(const std::string& name, const Matrix& matrix) {
  return Checksum()
      .add(std::string_view(name))
      .add_value(matrix.rows())
      .add_value(matrix.cols())
      .add(matrix.data(), matrix.size() * sizeof(float))
      .value();
}

}  // namespace

MapStore::MapStore(const fs::path& file,
                   Database::Mode mode,
                   const MapHeader& header,
                   Storage storage,
                   const fs::path& shown)
    : database_(file, mode, shown), header_(header), form_{storage, header.dim} {
  if (header.dim < 1 || header.dim > kMostDims) {
    throw std::invalid_argument(
        fmt::format("map dim is {}, 1 to {} was expected", header.dim, kMostDims));
  }
  block_rows_ = static_cast<int>(std::max<std::size_t>(1, kBlockBytes / form_.row_bytes()));
  database_.writing([this] { make_tables(); });
}

MapStore::MapStore(const fs::path& file, Access access)
    : database_(file, access == Access::kWrite ? Database::Mode::kWrite : Database::Mode::kRead) {
  try {
    database_.reading([this] { read_header(); });
  } catch (const std::runtime_error&) {
    refuse_other_files();
    throw;
  }
  block_rows_ = static_cast<int>(std::max<std::size_t>(1, kBlockBytes / form_.row_bytes()));
}

void MapStore::refuse_other_files() const {
  const fs::path& file = database_.file();
  if (!is_old_index(file)) return;
  throw std::runtime_error(fmt::format(
      "{} is an index of an older ria: build it again by 'ria index build FOLDER --out {}'",
      file.string(),
      file.string()));
}

void MapStore::make_tables() {
  database_.run(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplication, kFormat));
  for (const char* table : kTables) database_.run(table);
  const std::pair<const char*, std::string> fields[] = {{"method", header_.method},
                                                        {"options", header_.options},
                                                        {"weights_sha256", header_.weights_sha256},
                                                        {"ria_version", header_.ria_version},
                                                        {"dim", std::to_string(header_.dim)},
                                                        {"storage", to_string(form_.storage)},
                                                        {"removed", "0"}};
  for (const auto& [key, value] : fields) {
    database_.prepare("INSERT INTO header VALUES (?, ?)")
        .bind(std::string_view(key))
        .bind(std::string_view(value))
        .run();
  }
}

void MapStore::read_header() {
  const auto number = [this](const char* sql) {
    Statement pragma = database_.prepare(sql);
    return pragma.step() ? pragma.integer(0) : 0;
  };
  const std::string name = database_.file().string();
  if (number("PRAGMA application_id") != kApplication) {
    throw std::runtime_error(name + " is no map of places");
  }
  if (const std::int64_t format = number("PRAGMA user_version"); format != kFormat) {
    throw std::runtime_error(
        fmt::format("{} has format {}, this version of ria reads {}", name, format, kFormat));
  }
  // SQLite takes what is missing of the last page for zeros.
  std::error_code none;
  const std::uintmax_t size = fs::file_size(database_.file(), none);
  const bool has_wal = fs::exists(database_.file().string() + "-wal", none);
  if (!has_wal && size < static_cast<std::uintmax_t>(number("PRAGMA page_count")) *
                             static_cast<std::uintmax_t>(number("PRAGMA page_size"))) {
    database_.damaged("it is cut short");
  }
  Statement tables = database_.prepare(
      "SELECT sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY rowid");
  for (const char* table : kTables) {
    if (!tables.step() || tables.text(0) != table) database_.damaged("its tables are not a map's");
  }
  if (tables.step()) database_.damaged("it has more tables than a map has");
  const auto field = [this](const char* key) {
    Statement value = database_.prepare("SELECT value FROM header WHERE key = ?");
    if (!value.bind(std::string_view(key)).step()) {
      database_.damaged(fmt::format("its header has no '{}'", key));
    }
    return value.text(0);
  };
  header_ = {field("method"), field("options"), field("weights_sha256"), field("ria_version"), 0};
  try {
    form_.storage = parse_storage(field("storage"));
    header_.dim = std::stoi(field("dim"));
  } catch (const std::logic_error&) {
    database_.damaged("its header says no storage or dim");
  }
  if (header_.dim < 1 || header_.dim > kMostDims) {
    database_.damaged(fmt::format("its dim is {}", header_.dim));
  }
  form_.dim = header_.dim;
}

MapState MapStore::state() const {
  MapState state;
  Statement row = database_.prepare(
      "SELECT coalesce((SELECT seq + 1 FROM sqlite_sequence WHERE name = 'place'), 0), "
      "coalesce((SELECT CAST(value AS INTEGER) FROM header WHERE key = 'removed'), 0), "
      "EXISTS (SELECT 1 FROM local)");
  row.step();
  state.end = row.integer_in(0, 0, kLargestNumber + 1);
  state.removed = row.integer_in(1, 0, state.end);
  state.locals = row.integer(2) != 0;
  return state;
}

std::map<std::string, Matrix> MapStore::fitted() const {
  std::map<std::string, Matrix> fitted;
  Statement row =
      database_.prepare("SELECT name, height, width, data, checksum FROM fitted ORDER BY name");
  while (row.step()) {
    const std::string name = row.text(0);
    const int height = row.integer_in(1, 0, kMostDims), width = row.integer_in(2, 0, kMostDims);
    std::vector<float> values = row.values<float>(3);
    if (values.size() != static_cast<std::uint64_t>(height) * static_cast<std::uint64_t>(width)) {
      database_.damaged(fmt::format("what was fitted: {}", name));
    }
    Matrix matrix(height, width, std::move(values));
    if (!same_checksum(checksum(name, matrix), row.integer(4))) {
      database_.damaged(fmt::format("what was fitted: {}", name));
    }
    fitted[name] = std::move(matrix);
  }
  return fitted;
}

void MapStore::set_fitted(const std::map<std::string, Matrix>& fitted) {
  database_.run("DELETE FROM fitted");
  for (const auto& [name, matrix] : fitted) {
    Statement insert = database_.prepare("INSERT INTO fitted VALUES (?, ?, ?, ?, ?)");
    insert.bind(std::string_view(name))
        .bind(std::int64_t{matrix.rows()})
        .bind(std::int64_t{matrix.cols()})
        .bind(std::span(reinterpret_cast<const std::uint8_t*>(matrix.data()),
                        matrix.size() * sizeof(float)))
        .bind(checksum(name, matrix))
        .run();
  }
}

}  // namespace ria
