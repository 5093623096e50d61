// SPDX-License-Identifier: MIT
// A map in memory or in a file.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <unordered_set>

#include "index/best.h"
#include "index/map_impl.h"
#include "index/scan.h"

namespace ria {

namespace fs = std::filesystem;

LocalMap::LocalMap(const fs::path& path,
                   Database::Mode mode,
                   const MapHeader& header,
                   Storage storage,
                   const fs::path& shown)
    : Impl(mode == Database::Mode::kBuild ? shown : path),
      store(path, mode, header, storage, shown),
      rows(store.form()),
      loaded(mode != Database::Mode::kBuild) {
  version = store.database().data_version();
}

LocalMap::LocalMap(const fs::path& path, Access asked)
    : Impl(path), access(asked), store(path, asked), rows(store.form()) {
  store.database().reading([this] {
    known = store.state();
    version = store.database().data_version();
    fitted = store.fitted();
  });
}

MapState LocalMap::state() const {
  const std::shared_lock lock(rows_mutex);
  return known;
}

void LocalMap::load() const {
  {
    const std::shared_lock lock(rows_mutex);
    if (loaded) return;
  }
  if (store.database().mode() == Database::Mode::kBuild) {
    throw std::invalid_argument(file.string() + " is being built: it cannot be searched yet");
  }
  read([this](const MapStore&) {
    const std::unique_lock lock(rows_mutex);
    if (loaded) return;
    approximate = Approximate::open(store, not_approximate);
    if (approximate) rows = Rows(store.form(), approximate->end() - 1);
    loaded = true;
    follow();
  });
}

/// Places that others have removed.
void LocalMap::forget_removed(const MapState& now) const {
  if (!loaded || now.removed == known.removed) return;
  const std::vector<int> here = rows.places(), there = store.numbers();
  std::vector<int> gone;
  std::ranges::set_difference(here, there, std::back_inserter(gone));
  rows.remove(gone);
  if (approximate && !approximate->follow(store)) {
    approximate.reset();
    rows = Rows(store.form());
  }
}

bool LocalMap::follow() const {
  const std::int64_t now = store.database().data_version();
  const bool changed = now != version;
  if (changed) {
    const MapState state = store.state();
    forget_removed(state);
    known = state;
    version = now;
  }
  try {
    if (loaded) store.read_rows(rows);
  } catch (...) {  // room was made for what could not be read
    loaded = false;
    approximate.reset();
    rows = Rows(store.form());
    throw;
  }
  return changed;
}

template <typename Body>
void LocalMap::write(Body body) {
  if (access == Access::kRead) {
    throw std::invalid_argument(
        fmt::format("{} was opened for reading: nothing can be changed", file.string()));
  }
  const std::lock_guard lock(database_mutex);
  store.database().writing([&] {
    if (store.database().data_version() != version) {
      const std::unique_lock rows_lock(rows_mutex);
      follow();
    }
    body();
  });
}

int LocalMap::add(PlaceBatch batch) {
  const auto count = static_cast<int>(batch.places.size());
  write([&] {
    const MapState before = state();
    const bool keeps = before.size() == 0 ? !batch.locals.empty() : before.locals;
    if (std::ssize(batch.locals) != (keeps ? count : 0)) {
      throw std::invalid_argument(
          fmt::format("{} local features, {} places", batch.locals.size(), count));
    }
    if (count > kLargestNumber - before.end) {
      throw std::invalid_argument("the map has no numbers left for places");
    }
    if (batch.numbers.empty()) {
      batch.numbers.resize(batch.places.size());
      std::iota(batch.numbers.begin(), batch.numbers.end(), before.end);
    }
    store.insert(batch.numbers, batch.places, batch.rows, batch.locals);
  });
  if (count == 0) return state().end;
  const std::unique_lock lock(rows_mutex);
  if (loaded) rows.add(batch.rows, batch.numbers);
  known.removed += batch.numbers.back() + 1 - known.end - count;
  known.end = batch.numbers.back() + 1;
  known.locals = !batch.locals.empty();
  return batch.numbers.front();
}

int LocalMap::add_new(const PlaceBatch& batch) {
  PlaceBatch fresh;
  std::unordered_set<std::string> names;
  for (std::size_t i = 0; i < batch.places.size(); ++i) {
    const std::string& name = batch.places[i].name;
    if (!name.empty() && (!names.insert(name).second || !find(name).empty())) continue;
    fresh.places.push_back(batch.places[i]);
    fresh.rows.append(batch.rows, static_cast<int>(i), form());
    if (!batch.locals.empty()) fresh.locals.push_back(batch.locals[i]);
  }
  const auto count = static_cast<int>(fresh.places.size());
  if (count > 0) add(std::move(fresh));
  return count;
}

void LocalMap::set_fitted(std::map<std::string, Matrix> changed) {
  write([&] { store.set_fitted(changed); });
  fitted = std::move(changed);
}

Place LocalMap::place(int place) const {
  Place found;
  read([&](const MapStore& from) { found = from.place(place); });
  return found;
}

std::vector<int> LocalMap::places_from(int first, int count, std::vector<Place>& places) const {
  std::vector<int> numbers;
  read([&](const MapStore& from) { numbers = from.places_from(first, count, places); });
  return numbers;
}

std::vector<int> LocalMap::find(const std::string& name) const {
  std::vector<int> found;
  read([&](const MapStore& from) { found = from.find(name); });
  return found;
}

EncodedRows LocalMap::get_rows(const std::vector<int>& places) const {
  {
    const std::shared_lock lock(rows_mutex);
    if (loaded && !approximate) return rows.get(places);
  }
  EncodedRows found;
  read([&](const MapStore& from) { found = from.get_rows(places); });
  return found;
}

PackedLocalFeatures LocalMap::local(int place) const {
  PackedLocalFeatures found;
  read([&](const MapStore& from) { found = from.local(place); });
  return found;
}

int LocalMap::together() const { return std::min(store.block_rows(), 256); }

PlaceBatch LocalMap::next(int first, int count) const {
  PlaceBatch batch;
  read([&](const MapStore& from) {
    batch.numbers = from.places_from(first, count, batch.places);
    if (state().locals) {
      for (const int place : batch.numbers) batch.locals.push_back(from.local(place));
    }
    if (from.database().mode() != Database::Mode::kMemory)
      batch.rows = from.get_rows(batch.numbers);
  });
  if (batch.rows.count() < std::ssize(batch.numbers)) {
    const std::shared_lock lock(rows_mutex);
    batch.rows = rows.get(batch.numbers);
  }
  return batch;
}

void LocalMap::remove(const std::vector<int>& places) {
  int removed = 0;
  write([&] { removed = store.erase(places); });
  const std::unique_lock lock(rows_mutex);
  if (loaded) rows.remove(places);
  if (approximate) approximate->remove(places);
  known.removed += removed;
  if (known.size() == 0) known.locals = false;
}

std::vector<std::vector<Match>> LocalMap::search(const Matrix& queries,
                                                 int k,
                                                 const SearchOptions& options) const {
  load();
  Approximate::Found found;
  {
    const std::shared_lock lock(rows_mutex);
    if (!approximate) return scan_nearest(rows, queries, k, options);
    found = approximate->find(queries, k, options);
  }
  std::vector<std::vector<Match>> answers;
  read([&](const MapStore& from) {
    const std::shared_lock lock(rows_mutex);
    answers = scan_nearest(rows, queries, k, options);
    if (!approximate) return;  // all places were among those
    const bool changed = from.database().data_version() != version;
    const auto others = approximate->refine(from, queries, found, k, changed);
    for (std::size_t q = 0; q < others.size(); ++q) {
      Best best(static_cast<std::size_t>(k));
      for (const Match& match : answers[q]) best.show(match);
      for (const Match& match : others[q]) best.show(match);
      answers[q] = std::move(best).sorted();
    }
  });
  return answers;
}

std::vector<Match> LocalMap::scores(const Matrix& query) const {
  load();
  {
    const std::shared_lock lock(rows_mutex);
    if (!approximate) return scan_all(rows, query);
  }
  Rows all(form());
  read([&](const MapStore& from) { from.read_rows(all); });
  return scan_all(all, query);
}

std::pair<double, double> LocalMap::score_spread(const Matrix& query) const {
  load();
  {
    const std::shared_lock lock(rows_mutex);
    if (approximate) return approximate->candidates->spread(query.row(0));
  }
  return Impl::score_spread(query);
}

Rows LocalMap::rows_of(const std::vector<int>& places) const {
  Rows some(form());
  std::vector<int> there = places;
  read([&](const MapStore& from) {
    std::erase_if(there, [&](int place) { return !from.has(place); });
    const std::shared_lock lock(rows_mutex);
    some.add(loaded && !approximate ? rows.get(there) : from.get_rows(there), there);
  });
  return some;
}

SearchInfo LocalMap::search_info() const {
  std::string why;
  SearchInfo info;
  read([&](const MapStore& from) {
    const std::shared_lock lock(rows_mutex);
    std::unique_ptr<Approximate> opened;
    if (!loaded) opened = Approximate::open(from, why);
    const Approximate* there = loaded ? approximate.get() : opened.get();
    if (there != nullptr) info = there->info();
    info.note = loaded ? not_approximate : why;
  });
  if (info.kind == "exact") info.places = state().size();
  return info;
}

bool LocalMap::refresh() {
  bool changed = false;
  read([&](const MapStore&) {
    const std::unique_lock lock(rows_mutex);
    changed = follow();
  });
  return changed;
}

std::uint64_t LocalMap::bytes() const { return file.empty() ? 0 : fs::file_size(file); }

std::vector<std::string> LocalMap::check() const {
  std::vector<std::string> problems;
  read([&](const MapStore& from) { problems = from.check(); });
  return problems;
}

}  // namespace ria
