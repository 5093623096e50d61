// SPDX-License-Identifier: MIT
#include "ria/push.h"

#include <fmt/format.h>

#include <algorithm>

#include "index/server_map.h"
#include "ria/recognizer.h"

namespace ria {

namespace {

constexpr int kWorthAnIndex = 10'000;
constexpr int kMeasured = 50, kNearest = 10;

}  // namespace

void PushOptions::validate() const {
  const auto within = [](const char* field, int value, int low, int high) {
    if (value >= low && value <= high) return;
    throw std::invalid_argument(
        fmt::format("{} is {}, {} to {} was expected", field, value, low, high));
  };
  within("shards", shards, 1, 1024);
  within("m", m, 2, 100);
  within("ef_construction", ef_construction, 2 * m, 1000);
  if (search != "auto" && search != "exact" && search != "hnsw") {
    throw std::invalid_argument(
        fmt::format("search is '{}', exact, hnsw or auto was expected", search));
  }
}

int push_map(const Map& map, const std::string& server, const PushOptions& options) {
  options.validate();
  if (!is_server_name(server)) {
    throw std::invalid_argument(
        fmt::format("'{}' is no server, postgresql://user@host/database was expected", server));
  }
  const Map::Impl& from = *map.impl_;
  const int total = map.size();
  int done = 0, added = 0;
  try {
    const auto to =
        ServerMap::create(server, map.header(), map.fitted(), {options.shards, true}, options.stop);
    to->require_same(from);
    if (options.search == "hnsw") to->require_indexable();
    for (int first = 0;;) {
      PlaceBatch batch = from.next(first, from.together());
      if (batch.numbers.empty()) break;
      if (options.stop.stop_requested()) throw LinkStopped();
      first = batch.numbers.back() + 1;
      batch.numbers.clear();
      batch.rows = convert(std::move(batch.rows), from.form(), to->form());
      added += to->add_new(batch);
      done += static_cast<int>(batch.places.size());
      if (options.progress) options.progress(done, total);
    }
    to->choose_search(options);
  } catch (const LinkStopped&) {
    throw Interrupted(done, total, "places");
  }
  return added;
}

void ServerMap::choose_search(const PushOptions& options) {
  const auto say = [&](const std::string& text) {
    if (options.remark) options.remark(text);
  };
  if (options.search == "exact") return drop_index();
  const bool fits = form_.dim <= kMostIndexedDims;
  if (options.search == "auto" && (!fits || state().size() < kWorthAnIndex)) {
    if (!fits) {
      say(
          fmt::format("descriptors have {} dims and an index takes at most {}: search is exact; "
                      "--pca {} or less when the map is built makes an index possible",
                      form_.dim,
                      kMostIndexedDims,
                      kMostIndexedDims));
    }
    return;
  }
  say(fmt::format("{}: the HNSW index is built", file.string()));
  make_index(options.m, options.ef_construction);
  say(fmt::format("{}: recall@{} of the index is {:.3f} of {} places",
                  file.string(),
                  kNearest,
                  measure_recall(kMeasured, kNearest),
                  kMeasured));
}

}  // namespace ria
