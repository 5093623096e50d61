// SPDX-License-Identifier: MIT
// Maps of other maps: copies, merges.
#include <fmt/format.h>

#include <algorithm>

#include "index/map_impl.h"
#include "index/server_map.h"
#include "util/files.h"

namespace ria {

namespace fs = std::filesystem;

void Map::Impl::require_same(const Impl& other) const {
  const auto require = [&](const char* what, const std::string& a, const std::string& b) {
    if (a == b) return;
    throw std::invalid_argument(
        fmt::format("{} of {} is {}, of {} it is {}", what, name(), a, other.name(), b));
  };
  const MapHeader &a = header(), &b = other.header();
  require("method", a.method, b.method);
  require("dim", std::to_string(a.dim), std::to_string(b.dim));
  require("weights_sha256", a.weights_sha256, b.weights_sha256);
  require("ria_version", a.ria_version, b.ria_version);
  require("options", a.options, b.options);
  if (fitted != other.fitted) {
    throw std::invalid_argument(
        fmt::format("{} and {} were fitted on different pictures", name(), other.name()));
  }
}

void Map::build(const fs::path& file,
                const MapHeader& header,
                Storage storage,
                const std::function<void(Map& map)>& fill) {
  if (is_server_name(file)) {
    throw std::invalid_argument(fmt::format("{} is no file: 'ria index push' brings a map there",
                                            shown_name(file.string())));
  }
  AtomicFile target(file);
  auto impl =
      std::make_unique<LocalMap>(target.temporary(), Database::Mode::kBuild, header, storage, file);
  MapStore& store = impl->store;
  Map map(std::move(impl));
  store.database().writing([&] {
    fill(map);
    store.finish();
  });
  map.impl_.reset();
  target.commit();
}

void Map::save(const fs::path& file, Storage storage) const {
  build(file, header(), storage, [&](Map& copy) {
    copy.set_fitted(fitted());
    const RowForm &from = impl_->form(), &to = copy.impl_->form();
    for (int first = 0;;) {
      PlaceBatch batch = impl_->next(first, impl_->together());
      if (batch.numbers.empty()) return;
      first = batch.numbers.back() + 1;
      batch.rows = convert(std::move(batch.rows), from, to);
      copy.impl_->add(std::move(batch));
    }
  });
}

int Map::merge(const Map& other) {
  impl_->require_same(*other.impl_);
  const RowForm &from = other.impl_->form(), &to = impl_->form();
  const int end = other.end();
  int added = 0;
  for (int first = 0; first < end;) {
    PlaceBatch batch = other.impl_->next(first, std::min(other.impl_->together(), end - first));
    if (batch.numbers.empty()) break;
    first = batch.numbers.back() + 1;
    batch.numbers.clear();
    batch.rows = convert(std::move(batch.rows), from, to);
    added += impl_->add_new(batch);
  }
  return added;
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
