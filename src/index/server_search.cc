// SPDX-License-Identifier: MIT
// Search in a map on a server: it names candidates, by scores of half precision, and the exact
// scores of these decide, computed here as those of any map are.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "index/scan.h"
#include "index/server_map.h"
#include "tensor/tensor.h"

namespace ria {

namespace {

constexpr int kMore = 16;      // candidates beyond those asked for
constexpr int kMostEf = 1000;  // of pgvector

/// By how much the server's score of a place may differ from the exact one: the query is rounded,
/// and the server adds in single precision.
float largest_error(std::span<const float> query, const std::vector<std::uint16_t>& halves) {
  std::vector<float> rounded(query.size());
  from_halves(halves, rounded);
  double error = 0, length = 0;
  for (std::size_t i = 0; i < query.size(); ++i) {
    const double difference = static_cast<double>(query[i]) - static_cast<double>(rounded[i]);
    error += difference * difference;
    length += static_cast<double>(query[i]) * static_cast<double>(query[i]);
  }
  constexpr double kLongest = 1.001;  // of a place's descriptor
  const double sums = 6e-8 * std::sqrt(static_cast<double>(query.size()));
  return static_cast<float>(kLongest * (std::sqrt(error) + 4 * sums * std::sqrt(length)));
}

}  // namespace

ServerMap::Found ServerMap::candidates(std::span<const float> query,
                                       int count,
                                       int before,
                                       bool exact) const {
  const std::vector<std::uint16_t> halves = to_halves(query);
  const SqlValue asked = halfvec(reinterpret_cast<const std::uint8_t*>(halves.data()));
  // With the scale the order is no longer that of the index: every place is compared.
  const std::string statement = fmt::format(
      "SELECT number, scale, descriptor, {0} FROM {1}.place WHERE number < $2 "
      "ORDER BY {2} LIMIT {3}",
      sql("scale * (descriptor OPERATOR({V}.<#>) $1)"),
      link_.name().schema,
      sql(exact ? "scale * (descriptor OPERATOR({V}.<#>) $1), number"
                : "descriptor OPERATOR({V}.<#>) $1"),
      count);
  if (!exact && ef_search_ < count) {
    ef_search_ = std::min(kMostEf, std::max(count, link_.name().ef_search));
    link_.run(fmt::format("SET hnsw.ef_search = {}", ef_search_));
  }
  const ServerRows sent = link_.ask(statement, {asked, sql::int4(before)});
  std::vector<std::pair<int, int>> order;  // number, row
  for (int i = 0; i < sent.count(); ++i) {
    order.emplace_back(sent.integer_in(i, 0, 0, kLargestNumber), i);
  }
  Found found{Rows(form_), sent.count(), 0};
  if (sent.count() > 0) found.last = static_cast<float>(-sent.real(sent.count() - 1, 3));
  std::ranges::sort(order);
  EncodedRows rows;
  std::vector<std::int32_t> numbers;
  for (const auto& [number, i] : order) {
    if (!numbers.empty() && numbers.back() == number) damaged("a place comes twice");
    numbers.push_back(number);
    append_row(sent.bytes(i, 2), sent.real(i, 1), rows);
  }
  found.rows.add(rows, numbers);
  return found;
}

std::vector<Match> ServerMap::search_one(std::span<const float> query,
                                         int k,
                                         const SearchOptions& options,
                                         bool exact) const {
  const Matrix row(1, form_.dim, {query.begin(), query.end()});
  const float error = largest_error(query, to_halves(query));
  for (std::int64_t wanted = std::int64_t{k} + kMore;; wanted *= 4) {
    exact = exact || wanted > kMostEf;
    const int count = static_cast<int>(std::min<std::int64_t>(wanted, kLargestNumber));
    const Found found = candidates(query, count, options.before, exact);
    std::vector<Match> best = scan_nearest(found.rows, row, k, options).front();
    const bool enough = std::ssize(best) == k;
    if (!exact) {
      if (enough) return best;
      exact = true;  // the index lost sight of what is left
      wanted = (k + kMore + 3) / 4;
      continue;
    }
    const bool all = found.count < count;
    if (all || (enough && best.back().score > found.last + error)) return best;
  }
}

std::vector<std::vector<Match>> ServerMap::search(const Matrix& queries,
                                                  int k,
                                                  const SearchOptions& options) const {
  std::vector<std::vector<Match>> answers;
  for (int q = 0; q < queries.rows(); ++q) {
    talk([&] {
      const bool exact = !search_.indexed || link_.name().exact;
      std::vector<Match> found = search_one(queries.row(q), k, options, exact);
      answers.push_back(std::move(found));
    });
  }
  return answers;
}

std::vector<Match> ServerMap::scores(const Matrix& query) const {
  const std::vector<std::uint16_t> halves = to_halves(query.row(0));
  const SqlValue asked = halfvec(reinterpret_cast<const std::uint8_t*>(halves.data()));
  std::vector<Match> all;
  talk([&] {
    const ServerRows rows =
        link_.ask(sql("SELECT number, -(scale * (descriptor OPERATOR({V}.<#>) $1)) FROM {S}.place "
                      "ORDER BY number"),
                  {asked});
    all.clear();
    for (int i = 0; i < rows.count(); ++i) {
      all.push_back(
          {rows.integer_in(i, 0, 0, kLargestNumber), static_cast<float>(rows.real(i, 1))});
    }
  });
  return all;
}

void ServerMap::require_indexable() const {
  if (form_.dim <= kMostIndexedDims) return;
  link_.fail(
      fmt::format("descriptors have {} dims, an index takes at most {}: --search exact, or "
                  "--pca {} or less when the map is built",
                  form_.dim,
                  kMostIndexedDims,
                  kMostIndexedDims));
}

void ServerMap::drop_index() {
  const std::lock_guard lock(mutex_);
  link_.transaction([&] {
    link_.run(sql("DROP INDEX IF EXISTS {S}.place_hnsw"));
    link_.run(
        sql("UPDATE {S}.map SET hnsw_m = NULL, hnsw_ef_construction = NULL, "
            "hnsw_recall = NULL"));
    read_state();
  });
}

void ServerMap::make_index(int m, int ef_construction) {
  const std::lock_guard lock(mutex_);
  link_.transaction([&] {
    read_state();
    if (search_.indexed && search_.m == m && search_.ef_construction == ef_construction) return;
    link_.run(sql("DROP INDEX IF EXISTS {S}.place_hnsw"));
    link_.run(
        fmt::format("CREATE INDEX place_hnsw ON {} USING hnsw (descriptor "
                    "{}.halfvec_ip_ops) WITH (m = {}, ef_construction = {})",
                    sql("{S}.place"),
                    vector_schema_,
                    m,
                    ef_construction));
    link_.ask(sql("UPDATE {S}.map SET hnsw_m = $1, hnsw_ef_construction = $2, "
                  "hnsw_recall = NULL"),
              {sql::int4(m), sql::int4(ef_construction)});
    read_state();
  });
}

double ServerMap::measure_recall(int places, int k) {
  const MapState now = state();
  int right = 0, all = 0;
  for (int i = 0; i < places; ++i) {
    std::vector<Place> ignored;
    const auto first = static_cast<int>(std::int64_t{now.end} * i / places);
    const std::vector<int> chosen = places_from(first, 1, ignored);
    if (chosen.empty()) continue;
    const Matrix row = decode(get_rows(chosen), form_);
    SearchOptions others;  // it would find itself
    others.allowed = [&](int place) { return place != chosen[0]; };
    talk([&] {
      const std::vector<Match> exact = search_one(row.row(0), k, others, true);
      if (exact.empty()) return;
      for (const Match& match : search_one(row.row(0), k, others, false)) {
        right += match.score >= exact.back().score;  // ties are as good
      }
      all += static_cast<int>(exact.size());
    });
  }
  const double recall = all > 0 ? static_cast<double>(right) / all : Place::kUnknown;
  talk([&] {
    link_.ask(sql("UPDATE {S}.map SET hnsw_recall = $1"), {sql::float8(recall)});
    read_state();
  });
  return recall;
}

}  // namespace ria
