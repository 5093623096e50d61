// SPDX-License-Identifier: MIT
// Places and their local features.
#include <fmt/format.h>

#include <cstring>

#include "index/store.h"
#include "structure/checksum.h"

namespace ria {

namespace {

std::int64_t checksum(int number, const Place& place) {
  return Checksum()
      .add_value(number)
      .add(std::string_view(place.name))
      .add_value(place.stamp)
      .add_value(place.x)
      .add_value(place.y)
      .add_value(place.utm_zone)
      .add_value(place.heading)
      .value();
}

/// NaN has many forms; the checksum is of the one that comes back.
Place plain(Place place) {
  for (double* value : {&place.stamp, &place.x, &place.y, &place.heading}) {
    if (*value != *value) *value = Place::kUnknown;
  }
  return place;
}

std::int64_t checksum(int number, const PackedLocalFeatures& local) {
  return Checksum()
      .add_value(number)
      .add_value(local.dim)
      .add_value(local.grid_height)
      .add_value(local.grid_width)
      .add(std::span(local.bytes))
      .value();
}

/// Columns id, name, stamp, x, y, utm_zone, heading, checksum.
Place read_place(const Database& database, const Statement& row) {
  const Place place = plain({row.text(1),
                             row.real(2),
                             row.real(3),
                             row.real(4),
                             row.integer_in(5, -60, 60),
                             row.real(6)});
  const int number = row.integer_in(0, 0, kLargestNumber);
  if (!same_checksum(checksum(number, place), row.integer(7)))
    database.damaged(fmt::format("place {}", number));
  return place;
}

}  // namespace

bool MapStore::has(int place) const {
  return database_.prepare("SELECT 1 FROM place WHERE id = ?").bind(std::int64_t{place}).step();
}

Place MapStore::place(int place) const {
  Statement row = database_.prepare("SELECT * FROM place WHERE id = ?");
  if (!row.bind(std::int64_t{place}).step()) {
    throw std::invalid_argument(fmt::format("the map has no place {}", place));
  }
  return read_place(database_, row);
}

std::vector<int> MapStore::places_from(int first, int count, std::vector<Place>& places) const {
  Statement row = database_.prepare("SELECT * FROM place WHERE id >= ? ORDER BY id LIMIT ?");
  row.bind(std::int64_t{first}).bind(std::int64_t{count});
  std::vector<int> numbers;
  while (row.step()) {
    numbers.push_back(row.integer_in(0, first, kLargestNumber));
    first = numbers.back() + 1;
    places.push_back(read_place(database_, row));
  }
  return numbers;
}

std::vector<int> MapStore::numbers() const { return live(0, kLargestNumber); }

std::vector<int> MapStore::find(const std::string& name) const {
  Statement row = database_.prepare("SELECT id FROM place WHERE name = ? ORDER BY id");
  row.bind(std::string_view(name));
  std::vector<int> places;
  while (row.step()) places.push_back(row.integer_in(0, 0, kLargestNumber));
  return places;
}

PackedLocalFeatures MapStore::local(int place) const {
  Statement row = database_.prepare(
      "SELECT dim, grid_height, grid_width, data, checksum FROM local WHERE id = ?");
  if (!row.bind(std::int64_t{place}).step()) {
    throw std::invalid_argument(fmt::format("the map has no local features of place {}", place));
  }
  PackedLocalFeatures local;
  local.dim = row.integer_in(0, 0, kLargestNumber);
  local.grid_height = row.integer_in(1, 0, kLargestNumber);
  local.grid_width = row.integer_in(2, 0, kLargestNumber);
  local.bytes = row.values<std::uint8_t>(3);
  if (!same_checksum(checksum(place, local), row.integer(4))) {
    database_.damaged(fmt::format("the local features of place {}", place));
  }
  return local;
}

void MapStore::insert_place(int number, const Place& asked) {
  const Place place = plain(asked);
  database_.prepare("INSERT INTO place VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(std::int64_t{number})
      .bind(std::string_view(place.name))
      .bind(place.stamp)
      .bind(place.x)
      .bind(place.y)
      .bind(std::int64_t{place.utm_zone})
      .bind(place.heading)
      .bind(checksum(number, place))
      .run();
}

void MapStore::insert_local(int number, const PackedLocalFeatures& local) {
  database_.prepare("INSERT INTO local VALUES (?, ?, ?, ?, ?, ?)")
      .bind(std::int64_t{number})
      .bind(std::int64_t{local.dim})
      .bind(std::int64_t{local.grid_height})
      .bind(std::int64_t{local.grid_width})
      .bind(std::span(local.bytes))
      .bind(checksum(number, local))
      .run();
}

void MapStore::insert(std::span<const int> numbers,
                      std::span<const Place> places,
                      const EncodedRows& rows,
                      std::span<const PackedLocalFeatures> locals) {
  if (numbers.empty()) return;
  count_removed(numbers.back() + 1 - state().end - static_cast<int>(numbers.size()));
  // A map that is built takes one place after the other, so that its bytes do not depend on how
  // many come together.
  const bool builds = database_.mode() == Database::Mode::kBuild;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    insert_place(numbers[i], places[i]);
    if (!locals.empty()) insert_local(numbers[i], locals[i]);
    if (builds) wait_for_block(numbers[i], rows, static_cast<int>(i));
  }
  if (keeps_rows() && !builds) insert_rows(numbers, rows);
}

int MapStore::erase(std::span<const int> places) {
  int erased = 0;
  for (const int place : places) {
    if (!has(place)) continue;
    database_.prepare("DELETE FROM place WHERE id = ?").bind(std::int64_t{place}).run();
    database_.prepare("DELETE FROM local WHERE id = ?").bind(std::int64_t{place}).run();
    if (keeps_rows()) bury(place);
    ++erased;
  }
  count_removed(erased);
  return erased;
}

void MapStore::count_removed(int count) {
  if (count == 0) return;
  database_.prepare("UPDATE header SET value = CAST(value AS INTEGER) + ? WHERE key = 'removed'")
      .bind(std::int64_t{count})
      .run();
}

}  // namespace ria
