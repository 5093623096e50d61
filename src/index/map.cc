// SPDX-License-Identifier: MIT
#include "ria/map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "index/map_impl.h"
#include "index/scan.h"
#include "index/server_map.h"
#include "ria/eigen.h"

namespace ria {

namespace fs = std::filesystem;

void Map::Impl::require_fit(const Matrix& m) const {
  if (m.cols() != form().dim) {
    throw std::invalid_argument(fmt::format("descriptor has {} dims, {} holds {}",
                                            m.cols(),
                                            file.empty() ? "the map" : file.string(),
                                            form().dim));
  }
  if (!as_eigen(m).allFinite()) {
    throw std::invalid_argument("a descriptor holds NaN or infinity");
  }
}

Map::Map(MapHeader header, Storage storage)
    : impl_(std::make_unique<LocalMap>(fs::path(), Database::Mode::kMemory, header, storage)) {}
Map::Map(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Map::~Map() = default;
Map::Map(Map&&) noexcept = default;
Map& Map::operator=(Map&&) noexcept = default;

Map Map::create(const fs::path& file, const MapHeader& header, Storage storage) {
  if (is_server_name(file)) return Map(ServerMap::create(file, header, {}));
  return Map(std::make_unique<LocalMap>(file, Database::Mode::kCreate, header, storage));
}

Map Map::open(const fs::path& file, Access access) {
  if (is_server_name(file)) return Map(ServerMap::open(file, access));
  return Map(std::make_unique<LocalMap>(file, access));
}

bool Map::exists(const fs::path& file) {
  return is_server_name(file) ? ServerMap::exists(file) : fs::exists(file);
}

const MapHeader& Map::header() const { return impl_->header(); }
Storage Map::storage() const { return impl_->form().storage; }
const fs::path& Map::file() const { return impl_->file; }
int Map::size() const { return impl_->state().size(); }
int Map::end() const { return impl_->state().end; }
bool Map::has_locals() const { return impl_->state().locals; }
const std::map<std::string, Matrix>& Map::fitted() const { return impl_->fitted; }

void Map::set_fitted(std::map<std::string, Matrix> fitted) { impl_->set_fitted(std::move(fitted)); }

Place Map::place(int place) const { return impl_->place(place); }

void Map::each_place(const std::function<void(int, const Place&)>& visit) const {
  constexpr int kTogether = 1000;
  for (int first = 0;;) {
    std::vector<Place> places;
    const std::vector<int> numbers = impl_->places_from(first, kTogether, places);
    if (numbers.empty()) return;
    for (std::size_t i = 0; i < numbers.size(); ++i) visit(numbers[i], places[i]);
    first = numbers.back() + 1;
  }
}

std::vector<int> Map::find(const std::string& name) const { return impl_->find(name); }

Matrix Map::descriptors(const std::vector<int>& places) const {
  return decode(impl_->get_rows(places), impl_->form());
}

PackedLocalFeatures Map::local(int place) const { return impl_->local(place); }

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
  impl_->require_fit(descriptors);
  for (const Place& place : places) {
    if (place.utm_zone < -60 || place.utm_zone > 60) {
      throw std::invalid_argument(
          fmt::format("utm_zone is {}, -60 to 60 was expected", place.utm_zone));
    }
  }
  return impl_->add({{}, places, encode(descriptors, impl_->form()), locals});
}

void Map::remove(const std::vector<int>& places) {
  std::vector<int> sorted = places;
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  impl_->remove(sorted);
}

std::vector<std::vector<Match>> Map::search(const Matrix& queries,
                                            int k,
                                            const SearchOptions& options) const {
  if (k < 1) throw std::invalid_argument(fmt::format("k is {}, at least 1 was expected", k));
  if (queries.rows() == 0) return {};
  impl_->require_fit(queries);
  return impl_->search(queries, k, options);
}

std::vector<Match> Map::search(const Descriptor& query, int k, const SearchOptions& options) const {
  return search(Matrix(1, static_cast<int>(query.size()), query), k, options).front();
}

std::vector<Match> Map::scores(const Descriptor& query) const {
  const Matrix row(1, static_cast<int>(query.size()), query);
  impl_->require_fit(row);
  return impl_->scores(row);
}

std::vector<Match> Map::scores(const Descriptor& query, const std::vector<int>& places) const {
  const Matrix row(1, static_cast<int>(query.size()), query);
  impl_->require_fit(row);
  std::vector<int> sorted = places;
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return scan_all(impl_->rows_of(sorted), row);
}

std::pair<double, double> Map::score_spread(const Descriptor& query) const {
  const Matrix row(1, static_cast<int>(query.size()), query);
  impl_->require_fit(row);
  return impl_->score_spread(row);
}

std::pair<double, double> Map::Impl::score_spread(const Matrix& query) const {
  double sum = 0, squares = 0, count = 0;
  for (const Match& match : scores(query)) {
    sum += match.score;
    squares += double{match.score} * match.score;
    ++count;
  }
  const double mean = count > 0 ? sum / count : 0;
  return {mean, count > 0 ? std::sqrt(std::max(0.0, squares / count - mean * mean)) : 0};
}

bool Map::refresh() { return impl_->refresh(); }
std::vector<std::string> Map::check() const { return impl_->check(); }
std::uint64_t Map::bytes() const { return impl_->bytes(); }
SearchInfo Map::search_info() const { return impl_->search_info(); }

}  // namespace ria
