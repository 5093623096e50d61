// SPDX-License-Identifier: MIT
// Maps of other maps: copies, merges.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "index/map_impl.h"
#include "util/files.h"

namespace ria {

namespace fs = std::filesystem;

PlaceBatch Map::Impl::next(int first, int count) const {
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

void Map::Impl::require_same(const Impl& other) const {
  const auto name = [](const Impl& one) {
    return one.file.empty() ? std::string("a map in memory") : one.file.string();
  };
  const auto require = [&](const char* what, const std::string& a, const std::string& b) {
    if (a == b) return;
    throw std::invalid_argument(
        fmt::format("{} of {} is {}, of {} it is {}", what, name(*this), a, name(other), b));
  };
  const MapHeader &a = store.header(), &b = other.store.header();
  require("method", a.method, b.method);
  require("dim", std::to_string(a.dim), std::to_string(b.dim));
  require("weights_sha256", a.weights_sha256, b.weights_sha256);
  require("ria_version", a.ria_version, b.ria_version);
  require("options", a.options, b.options);
  if (fitted != other.fitted) {
    throw std::invalid_argument(
        fmt::format("{} and {} were fitted on different pictures", name(*this), name(other)));
  }
}

namespace {

/// Places that are read at a time: those of a block, if their local features are not too many.
int together(const MapStore& store) { return std::min(store.block_rows(), 256); }

}  // namespace

void Map::build(const fs::path& file,
                const MapHeader& header,
                Storage storage,
                const std::function<void(Map& map)>& fill) {
  AtomicFile target(file);
  Map map(
      std::make_unique<Impl>(target.temporary(), Database::Mode::kBuild, header, storage, file));
  map.impl_->store.database().writing([&] {
    fill(map);
    map.impl_->store.finish();
  });
  map.impl_.reset();
  target.commit();
}

void Map::save(const fs::path& file, Storage storage) const {
  build(file, header(), storage, [&](Map& copy) {
    copy.set_fitted(fitted());
    const RowForm &from = impl_->store.form(), &to = copy.impl_->store.form();
    for (int first = 0;;) {
      PlaceBatch batch = impl_->next(first, together(impl_->store));
      if (batch.numbers.empty()) return;
      first = batch.numbers.back() + 1;
      batch.rows = convert(std::move(batch.rows), from, to);
      copy.impl_->add(std::move(batch));
    }
  });
}

int Map::merge(const Map& other) {
  impl_->require_same(*other.impl_);
  const RowForm &from = other.impl_->store.form(), &to = impl_->store.form();
  const int end = other.end(), before = size();
  for (int first = 0; first < end;) {
    const PlaceBatch batch = other.impl_->next(first, together(other.impl_->store));
    if (batch.numbers.empty()) break;
    PlaceBatch fresh;
    std::unordered_set<std::string> names;
    for (std::size_t i = 0; i < batch.numbers.size() && batch.numbers[i] < end; ++i) {
      const std::string& name = batch.places[i].name;
      if (!name.empty() && (!names.insert(name).second || !find(name).empty())) continue;
      fresh.places.push_back(batch.places[i]);
      fresh.rows.append(batch.rows, static_cast<int>(i), from);
      if (!batch.locals.empty()) fresh.locals.push_back(batch.locals[i]);
    }
    first = batch.numbers.back() + 1;
    fresh.rows = convert(std::move(fresh.rows), from, to);
    if (!fresh.places.empty()) impl_->add(std::move(fresh));
  }
  return size() - before;
}

int merge_maps(const std::vector<fs::path>& files, const fs::path& out) {
  std::vector<Map> maps;
  for (const fs::path& file : files) maps.push_back(Map::open(file));
  if (maps.empty()) throw std::invalid_argument("no map to merge was given");
  int count = 0;
  Map::build(out, maps.front().header(), maps.front().storage(), [&](Map& merged) {
    merged.set_fitted(maps.front().fitted());
    for (const Map& map : maps) count += merged.merge(map);
  });
  return count;
}

}  // namespace ria
