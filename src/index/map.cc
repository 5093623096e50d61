// SPDX-License-Identifier: MIT
#include "ria/map.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "index/map_impl.h"
#include "index/scan.h"
#include "ria/eigen.h"

namespace ria {

namespace fs = std::filesystem;

Map::Impl::Impl(const fs::path& path,
                Database::Mode mode,
                const MapHeader& header,
                Storage storage,
                const fs::path& shown)
    : file(mode == Database::Mode::kBuild ? shown : path),
      store(path, mode, header, storage, shown),
      rows(store.form()),
      loaded(mode != Database::Mode::kBuild) {
  version = store.database().data_version();
}

Map::Impl::Impl(const fs::path& path, Access asked)
    : file(path), access(asked), store(path, asked), rows(store.form()) {
  store.database().reading([this] {
    known = store.state();
    version = store.database().data_version();
    fitted = store.fitted();
  });
}

MapState Map::Impl::state() const {
  const std::shared_lock lock(rows_mutex);
  return known;
}

void Map::Impl::require_width(const Matrix& m) const {
  if (m.cols() == store.form().dim) return;
  throw std::invalid_argument(fmt::format("descriptor has {} dims, {} holds {}",
                                          m.cols(),
                                          file.empty() ? "the map" : file.string(),
                                          store.form().dim));
}

void Map::Impl::require_finite(const Matrix& m) const {
  if (!as_eigen(m).allFinite()) {
    throw std::invalid_argument("a descriptor holds NaN or infinity");
  }
}

void Map::Impl::load() const {
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
    loaded = true;
    follow();
  });
}

bool Map::Impl::follow() const {
  const std::int64_t now = store.database().data_version();
  const bool changed = now != version;
  if (changed) {
    const MapState state = store.state();
    if (loaded && state.removed != known.removed) {
      const std::vector<int> here = rows.places(), there = store.numbers();
      std::vector<int> gone;
      std::ranges::set_difference(here, there, std::back_inserter(gone));
      rows.remove(gone);
    }
    known = state;
    version = now;
  }
  try {
    if (loaded) store.read_rows(rows);
  } catch (...) {  // room was made for what could not be read
    loaded = false;
    rows = Rows(store.form());
    throw;
  }
  return changed;
}

template <typename Body>
void Map::Impl::write(Body body) {
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

int Map::Impl::add(PlaceBatch batch) {
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

Map::Map(MapHeader header, Storage storage)
    : impl_(std::make_unique<Impl>(fs::path(), Database::Mode::kMemory, header, storage)) {}
Map::Map(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Map::~Map() = default;
Map::Map(Map&&) noexcept = default;
Map& Map::operator=(Map&&) noexcept = default;

Map Map::create(const fs::path& file, const MapHeader& header, Storage storage) {
  return Map(std::make_unique<Impl>(file, Database::Mode::kCreate, header, storage));
}

Map Map::open(const fs::path& file, Access access) {
  return Map(std::make_unique<Impl>(file, access));
}

const MapHeader& Map::header() const { return impl_->store.header(); }
Storage Map::storage() const { return impl_->store.form().storage; }
const fs::path& Map::file() const { return impl_->file; }
int Map::size() const { return impl_->state().size(); }
int Map::end() const { return impl_->state().end; }
bool Map::has_locals() const { return impl_->state().locals; }
const std::map<std::string, Matrix>& Map::fitted() const { return impl_->fitted; }

void Map::set_fitted(std::map<std::string, Matrix> fitted) {
  impl_->write([&] { impl_->store.set_fitted(fitted); });
  impl_->fitted = std::move(fitted);
}

Place Map::place(int place) const {
  Place found;
  impl_->read([&](const MapStore& store) { found = store.place(place); });
  return found;
}

void Map::each_place(const std::function<void(int, const Place&)>& visit) const {
  constexpr int kTogether = 1000;
  for (int first = 0;;) {
    std::vector<Place> places;
    std::vector<int> numbers;
    impl_->read(
        [&](const MapStore& store) { numbers = store.places_from(first, kTogether, places); });
    if (numbers.empty()) return;
    for (std::size_t i = 0; i < numbers.size(); ++i) visit(numbers[i], places[i]);
    first = numbers.back() + 1;
  }
}

std::vector<int> Map::find(const std::string& name) const {
  std::vector<int> found;
  impl_->read([&](const MapStore& store) { found = store.find(name); });
  return found;
}

Matrix Map::descriptors(const std::vector<int>& places) const {
  EncodedRows rows;
  {
    const std::shared_lock lock(impl_->rows_mutex);
    if (impl_->loaded) return decode(impl_->rows.get(places), impl_->store.form());
  }
  impl_->read([&](const MapStore& store) { rows = store.get_rows(places); });
  return decode(rows, impl_->store.form());
}

PackedLocalFeatures Map::local(int place) const {
  PackedLocalFeatures found;
  impl_->read([&](const MapStore& store) { found = store.local(place); });
  return found;
}

int Map::add(const Matrix& descriptors,
             const std::vector<Place>& places,
             const std::vector<PackedLocalFeatures>& locals) {
  if (descriptors.rows() != std::ssize(places)) {
    throw std::invalid_argument(
        fmt::format("{} descriptors, {} places", descriptors.rows(), places.size()));
  }
  if (!locals.empty() && locals.size() != places.size()) {
    throw std::invalid_argument(
        fmt::format("{} local features, {} places", locals.size(), places.size()));
  }
  if (descriptors.rows() == 0) return end();
  impl_->require_width(descriptors);
  impl_->require_finite(descriptors);
  for (const Place& place : places) {
    if (place.utm_zone < -60 || place.utm_zone > 60) {
      throw std::invalid_argument(
          fmt::format("utm_zone is {}, -60 to 60 was expected", place.utm_zone));
    }
  }
  return impl_->add({{}, places, encode(descriptors, impl_->store.form()), locals});
}

void Map::remove(const std::vector<int>& places) {
  std::vector<int> sorted = places;
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  int removed = 0;
  impl_->write([&] { removed = impl_->store.erase(sorted); });
  const std::unique_lock lock(impl_->rows_mutex);
  if (impl_->loaded) impl_->rows.remove(sorted);
  impl_->known.removed += removed;
  if (impl_->known.size() == 0) impl_->known.locals = false;
}

std::vector<std::vector<Match>> Map::search(const Matrix& queries,
                                            int k,
                                            const SearchOptions& options) const {
  if (k < 1) throw std::invalid_argument(fmt::format("k is {}, at least 1 was expected", k));
  if (queries.rows() == 0) return {};
  impl_->require_width(queries);
  impl_->require_finite(queries);
  impl_->load();
  const std::shared_lock lock(impl_->rows_mutex);
  return scan_nearest(impl_->rows, queries, k, options);
}

std::vector<Match> Map::search(const Descriptor& query, int k, const SearchOptions& options) const {
  return search(Matrix(1, static_cast<int>(query.size()), query), k, options).front();
}

std::vector<Match> Map::scores(const Descriptor& query) const {
  const Matrix row(1, static_cast<int>(query.size()), query);
  impl_->require_width(row);
  impl_->require_finite(row);
  impl_->load();
  const std::shared_lock lock(impl_->rows_mutex);
  return scan_all(impl_->rows, row);
}

bool Map::refresh() {
  bool changed = false;
  impl_->read([&](const MapStore&) {
    const std::unique_lock lock(impl_->rows_mutex);
    changed = impl_->follow();
  });
  return changed;
}

std::vector<std::string> Map::check() const {
  std::vector<std::string> problems;
  impl_->read([&](const MapStore& store) { problems = store.check(); });
  return problems;
}

}  // namespace ria
