// SPDX-License-Identifier: MIT
#include "index/server_map.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <random>

namespace ria {

namespace fs = std::filesystem;

namespace {

constexpr int kFormat = 1;
constexpr int kMostShards = 1024;
constexpr int kMostCells = 1 << 24;  // rows or columns of what was fitted

constexpr char kTables[] = R"(
CREATE SCHEMA IF NOT EXISTS {S};
CREATE TABLE {S}.map (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  format int4 NOT NULL,
  method text NOT NULL,
  options text NOT NULL,
  weights_sha256 text NOT NULL,
  ria_version text NOT NULL,
  dim int4 NOT NULL,
  shards int4 NOT NULL,
  next_number int4 NOT NULL DEFAULT 0,
  places int4 NOT NULL DEFAULT 0,
  locals boolean NOT NULL DEFAULT false,
  hnsw_m int4,
  hnsw_ef_construction int4,
  hnsw_recall float8
);
CREATE TABLE {S}.fitted (
  name text PRIMARY KEY,
  height int4 NOT NULL,
  width int4 NOT NULL,
  data bytea NOT NULL
);
CREATE TABLE {S}.writer (
  id text PRIMARY KEY,
  batch int8 NOT NULL,
  first int4 NOT NULL,
  added int4 NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE {S}.place (
  shard int2 NOT NULL,
  number int4 NOT NULL,
  name text NOT NULL,
  stamp float8,
  x float8,
  y float8,
  utm_zone int2 NOT NULL,
  heading float8,
  scale float4 NOT NULL,
  descriptor {V}.halfvec({D}) NOT NULL
) PARTITION BY LIST (shard);
CREATE TABLE {S}.local (
  shard int2 NOT NULL,
  number int4 NOT NULL,
  dim int4 NOT NULL,
  grid_height int4 NOT NULL,
  grid_width int4 NOT NULL,
  data bytea NOT NULL
) PARTITION BY LIST (shard);
)";

// Keys are the partitions' own: a parent with a key takes no foreign table.
constexpr char kPartition[] = R"(
CREATE TABLE {S}.place_{I} PARTITION OF {S}.place (PRIMARY KEY (number)) FOR VALUES IN ({I});
CREATE INDEX ON {S}.place_{I} USING hash (name);
CREATE TABLE {S}.local_{I} PARTITION OF {S}.local (PRIMARY KEY (number)) FOR VALUES IN ({I});
ALTER TABLE {S}.local_{I} ALTER data SET STORAGE EXTERNAL;
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// "0.8.0" has halfvec, "0.6.2" has not.
bool has_halfvec(const std::string& version) {
  int parts[2] = {0, 0};
  const char *at = version.data(), *end = at + version.size();
  for (int& part : parts) {
    at = std::from_chars(at, end, part).ptr;
    if (at != end) ++at;
  }
  return parts[0] > 0 || parts[1] >= 7;
}

std::string random_name() {
  std::random_device device;
  std::string name;
  for (int i = 0; i < 4; ++i) name += fmt::format("{:08x}", device());
  return name;
}

}  // namespace

ServerMap::ServerMap(const ServerName& name, Access access, std::stop_token stop)
    : Impl(name.shown), link_(name, std::move(stop)), access_(access), writer_(random_name()) {
  link_.set_greeting([this] { greet(); });
}

ServerMap::~ServerMap() {
  if (batch_ > 0) link_.say(sql("DELETE FROM {S}.writer WHERE id = '") + writer_ + "'");
}

std::string ServerMap::sql(const char* text) const {
  return replaced(replaced(text, "{S}", link_.name().schema), "{V}", vector_schema_);
}

void ServerMap::damaged(const std::string& what) const {
  throw std::runtime_error(fmt::format("{} is damaged: {}", file.string(), what));
}

void ServerMap::talk(const std::function<void()>& body) const {
  const std::lock_guard lock(mutex_);
  link_.attempt(body);
}

void ServerMap::greet() {
  ef_search_ = 0;
  link_.run("SET jit = off; SET plan_cache_mode = force_custom_plan");
  const ServerRows found = link_.ask(
      "SELECT e.extversion, quote_ident(n.nspname), coalesce((SELECT t.oid::int8 FROM pg_type t "
      "WHERE t.typname = 'halfvec' AND t.typnamespace = n.oid), 0), "
      "current_setting('server_version') FROM pg_extension e JOIN pg_namespace n "
      "ON n.oid = e.extnamespace WHERE e.extname = 'vector'");
  if (found.count() == 0) {
    const std::string version =
        link_.ask("SELECT current_setting('server_version_num')").text(0, 0);
    link_.fail(fmt::format(
        "the database has no pgvector: 'CREATE EXTENSION vector' puts it there, where the package "
        "postgresql-{}-pgvector is installed",
        version.size() > 4 ? version.substr(0, version.size() - 4) : "NN"));
  }
  const std::string version = found.text(0, 0);
  vector_schema_ = found.text(0, 1);
  halfvec_type_ = static_cast<std::uint32_t>(found.integer(0, 2));
  server_text_ = fmt::format("PostgreSQL {}, pgvector {}", found.text(0, 3), version);
  if (!has_halfvec(version) || halfvec_type_ == 0) {
    link_.fail(fmt::format("pgvector {} has no halfvec, 0.7.0 or newer was expected", version));
  }
}

bool ServerMap::read_header() {
  const ServerRows there =
      link_.ask("SELECT to_regclass($1) IS NOT NULL", {sql::text(link_.name().schema + ".map")});
  if (there.integer(0, 0) == 0) return false;
  const ServerRows format = link_.ask(sql("SELECT format FROM {S}.map"));
  if (format.count() != 1) damaged("its header is missing");
  if (format.integer(0, 0) != kFormat) {
    link_.fail(fmt::format("schema {} has version {}, this version of ria reads {}",
                           link_.name().schema,
                           format.integer(0, 0),
                           kFormat));
  }
  const ServerRows row = link_.ask(
      sql("SELECT method, options, weights_sha256, ria_version, dim, shards FROM {S}.map"));
  header_ = {row.text(0, 0),
             row.text(0, 1),
             row.text(0, 2),
             row.text(0, 3),
             row.integer_in(0, 4, 1, kMostDims)};
  form_ = {Storage::kHalf, header_.dim};
  shards_ = row.integer_in(0, 5, 1, kMostShards);
  read_fitted();
  read_state();
  return true;
}

void ServerMap::read_state() const {
  const ServerRows row =
      link_.ask(sql("SELECT next_number, places, locals, hnsw_m, hnsw_ef_construction, hnsw_recall "
                    "FROM {S}.map"));
  if (row.count() != 1) damaged("its header is missing");
  known_.end = row.integer_in(0, 0, 0, kLargestNumber + 1);
  known_.removed = known_.end - row.integer_in(0, 1, 0, known_.end);
  known_.locals = row.integer(0, 2) != 0;
  search_.indexed = !row.null(0, 3);
  if (!search_.indexed) return;
  search_.m = row.integer_in(0, 3, 2, 100);
  search_.ef_construction = row.integer_in(0, 4, 4, 1000);
  search_.recall = row.real(0, 5);
}

void ServerMap::read_fitted() {
  const ServerRows rows = link_.ask(sql("SELECT name, height, width, data FROM {S}.fitted"));
  fitted.clear();
  for (int i = 0; i < rows.count(); ++i) {
    const int height = rows.integer_in(i, 1, 0, kMostCells),
              width = rows.integer_in(i, 2, 0, kMostCells);
    const std::string_view bytes = rows.bytes(i, 3);
    const auto cells = static_cast<std::uint64_t>(height) * static_cast<std::uint64_t>(width);
    if (bytes.size() != cells * sizeof(float)) damaged("what was fitted: " + rows.text(i, 0));
    std::vector<float> values(cells);
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    fitted[rows.text(i, 0)] = Matrix(height, width, std::move(values));
  }
}

void ServerMap::write_fitted(const std::map<std::string, Matrix>& changed) {
  link_.run(sql("DELETE FROM {S}.fitted"));
  for (const auto& [name, matrix] : changed) {
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(matrix.data()),
                          matrix.size() * sizeof(float));
    link_.ask(
        sql("INSERT INTO {S}.fitted VALUES ($1, $2, $3, $4)"),
        {sql::text(name), sql::int4(matrix.rows()), sql::int4(matrix.cols()), sql::bytes(bytes)});
  }
}

void ServerMap::make_tables(const MapHeader& header, int shards) {
  link_.run(replaced(sql(kTables), "{D}", std::to_string(header.dim)));
  for (int i = 0; i < shards; ++i) {
    link_.run(replaced(sql(kPartition), "{I}", std::to_string(i)));
  }
  link_.ask(sql("INSERT INTO {S}.map (format, method, options, weights_sha256, ria_version, dim, "
                "shards) VALUES ($1, $2, $3, $4, $5, $6, $7)"),
            {sql::int4(kFormat),
             sql::text(header.method),
             sql::text(header.options),
             sql::text(header.weights_sha256),
             sql::text(header.ria_version),
             sql::int4(header.dim),
             sql::int4(shards)});
}

bool ServerMap::exists(const fs::path& name, std::stop_token stop) {
  ServerMap map(ServerName(name.string()), Access::kRead, std::move(stop));
  bool there = false;
  map.talk([&] { there = map.read_header(); });
  return there;
}

std::unique_ptr<ServerMap> ServerMap::open(const fs::path& name,
                                           Access access,
                                           std::stop_token stop) {
  std::unique_ptr<ServerMap> map(new ServerMap(ServerName(name.string()), access, std::move(stop)));
  map->talk([&] {
    if (map->read_header()) return;
    map->link_.fail(fmt::format("there is no map in schema {}; 'ria index push' makes one",
                                map->link_.name().schema));
  });
  return map;
}

std::unique_ptr<ServerMap> ServerMap::create(const fs::path& name,
                                             const MapHeader& header,
                                             const std::map<std::string, Matrix>& fitted,
                                             const ServerLayout& layout,
                                             std::stop_token stop) {
  if (layout.shards < 1 || layout.shards > kMostShards) {
    throw std::invalid_argument(
        fmt::format("shards is {}, 1 to {} was expected", layout.shards, kMostShards));
  }
  std::unique_ptr<ServerMap> map(
      new ServerMap(ServerName(name.string()), Access::kWrite, std::move(stop)));
  if (header.dim < 1 || header.dim > kMostDims) {
    map->link_.fail(
        fmt::format("descriptors have {} dims, a halfvec has at most {}: --pca {} or "
                    "less makes them shorter",
                    header.dim,
                    kMostDims,
                    kMostIndexedDims));
  }
  const std::lock_guard lock(map->mutex_);
  map->link_.transaction([&] {  // two that create it wait for each other
    map->link_.ask("SELECT pg_advisory_xact_lock(hashtext($1))",
                   {sql::text("ria map " + map->link_.name().schema)});
    if (map->read_header()) {
      if (layout.may_be_there) return;
      map->link_.fail(fmt::format("there is a map in schema {}", map->link_.name().schema));
    }
    map->make_tables(header, layout.shards);
    map->write_fitted(fitted);
    map->read_header();
  });
  return map;
}

MapState ServerMap::state() const {
  const std::lock_guard lock(mutex_);
  return known_;
}

void ServerMap::require_writable() const {
  if (access_ == Access::kWrite) return;
  throw std::invalid_argument(
      fmt::format("{} was opened for reading: nothing can be changed", file.string()));
}

void ServerMap::set_fitted(std::map<std::string, Matrix> changed) {
  require_writable();
  const std::lock_guard lock(mutex_);
  link_.transaction([&] { write_fitted(changed); });
  fitted = std::move(changed);
}

bool ServerMap::refresh() {
  MapState before = state();
  talk([this] { read_state(); });
  const MapState now = state();
  return before.end != now.end || before.removed != now.removed;
}

std::uint64_t ServerMap::bytes() const {
  std::uint64_t bytes = 0;
  talk([&] {
    bytes = static_cast<std::uint64_t>(
        link_
            .ask("SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::int8 FROM pg_class c "
                 "JOIN pg_namespace n ON n.oid = c.relnamespace "
                 "WHERE n.nspname = $1 AND c.relkind = 'r'",
                 {sql::text(link_.name().schema)})
            .integer(0, 0));
  });
  return bytes;
}

SearchInfo ServerMap::search_info() const {
  const std::lock_guard lock(mutex_);
  SearchInfo info;
  info.places = known_.size();
  info.note = fmt::format("{}, {} shard{}", server_text_, shards_, shards_ > 1 ? "s" : "");
  if (!search_.indexed || link_.name().exact) return info;
  info.kind = "hnsw";
  info.recall = search_.recall;
  info.note = fmt::format("m {}, ef_construction {}, ef_search {}; recall@10 {:.3f}; {}",
                          search_.m,
                          search_.ef_construction,
                          link_.name().ef_search,
                          search_.recall,
                          info.note);
  return info;
}

std::vector<std::string> ServerMap::check() const {
  std::vector<std::string> problems;
  const auto count = [&](const char* what, const std::string& query) {
    const std::int64_t found = link_.ask(query).integer(0, 0);
    if (found != 0) problems.push_back(fmt::format("{}: {}: {}", file.string(), what, found));
  };
  talk([&] {
    problems.clear();
    count("places its header does not count",
          sql("SELECT (SELECT count(*) FROM {S}.place) - (SELECT places FROM {S}.map)"));
    count("places with a number of the future",
          sql("SELECT count(*) FROM {S}.place WHERE number >= (SELECT next_number FROM {S}.map) "
              "OR number < 0"));
    count("places in the wrong shard",
          sql("SELECT count(*) FROM {S}.place WHERE shard <> number % "
              "(SELECT shards FROM {S}.map)"));
    count("places without a scale",
          sql("SELECT count(*) FROM {S}.place WHERE NOT scale BETWEEN 0.5 AND 2"));
    count("places without local features",
          sql("SELECT count(*) FROM {S}.place p WHERE (SELECT locals FROM {S}.map) AND NOT EXISTS "
              "(SELECT 1 FROM {S}.local l WHERE l.shard = p.shard AND l.number = p.number)"));
  });
  return problems;
}

}  // namespace ria
