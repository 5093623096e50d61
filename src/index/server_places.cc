// SPDX-License-Identifier: MIT
// Places of a map on a server: reading, adding, removing.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "index/server_map.h"

namespace ria {

namespace {

std::string missing(int place) { return fmt::format("the map has no place {}", place); }

/// Halves in the other order of bytes.
void swap_halves(const char* from, std::size_t count, std::uint8_t* to) {
  std::memcpy(to, from, 2 * count);
  if constexpr (std::endian::native == std::endian::little) {
    for (std::size_t i = 0; i < count; ++i) std::swap(to[2 * i], to[2 * i + 1]);
  }
}

constexpr char kPlaceColumns[] = "number, name, stamp, x, y, utm_zone, heading";

}  // namespace

SqlValue ServerMap::halfvec(const std::uint8_t* halves) const {
  const auto dim = static_cast<std::size_t>(form_.dim);
  SqlValue made;
  made.type = halfvec_type_;
  made.bytes = sql::int2(static_cast<std::int16_t>(dim)).bytes + std::string(2, '\0');
  made.bytes.resize(4 + 2 * dim);
  swap_halves(reinterpret_cast<const char*>(halves),
              dim,
              reinterpret_cast<std::uint8_t*>(made.bytes.data()) + 4);
  return made;
}

void ServerMap::append_row(std::string_view sent, double scale, EncodedRows& rows) const {
  const auto dim = static_cast<std::size_t>(form_.dim);
  if (sent.size() != 4 + 2 * dim || !(scale > 0)) damaged("a descriptor is not of its dims");
  const std::size_t at = rows.data.size();
  rows.data.resize(at + form_.row_bytes());
  swap_halves(sent.data() + 4, dim, rows.data.data() + at);
  rows.scales.push_back(static_cast<float>(scale));
}

Place ServerMap::place_of(const ServerRows& rows, int row) const {
  return {rows.text(row, 1),
          rows.real(row, 2),
          rows.real(row, 3),
          rows.real(row, 4),
          rows.integer_in(row, 5, -60, 60),
          rows.real(row, 6)};
}

Place ServerMap::place(int place) const {
  Place found;
  talk([&] {
    const ServerRows rows =
        link_.ask(fmt::format("SELECT {} FROM {}.place WHERE number = $1 AND shard = $2",
                              kPlaceColumns,
                              link_.name().schema),
                  {sql::int4(place), sql::int2(static_cast<std::int16_t>(place % shards_))});
    if (place < 0 || rows.count() != 1) throw std::invalid_argument(missing(place));
    found = place_of(rows, 0);
  });
  return found;
}

std::vector<int> ServerMap::places_from(int first, int count, std::vector<Place>& places) const {
  std::vector<int> numbers;
  const std::size_t before = places.size();
  talk([&] {
    numbers.clear();
    places.resize(before);
    const ServerRows rows =
        link_.ask(fmt::format("SELECT {} FROM {}.place WHERE number >= $1 ORDER BY number LIMIT $2",
                              kPlaceColumns,
                              link_.name().schema),
                  {sql::int4(first), sql::int8(count)});
    for (int i = 0; i < rows.count(); ++i) {
      numbers.push_back(
          rows.integer_in(i, 0, numbers.empty() ? first : numbers.back() + 1, kLargestNumber));
      places.push_back(place_of(rows, i));
    }
  });
  return numbers;
}

std::vector<int> ServerMap::find(const std::string& name) const {
  std::vector<int> found;
  talk([&] {
    found.clear();
    const ServerRows rows = link_.ask(
        sql("SELECT number FROM {S}.place WHERE name = $1 ORDER BY number"), {sql::text(name)});
    for (int i = 0; i < rows.count(); ++i) {
      found.push_back(rows.integer_in(i, 0, 0, kLargestNumber));
    }
  });
  return found;
}

EncodedRows ServerMap::get_rows(const std::vector<int>& places) const {
  EncodedRows ordered;
  talk([&] {
    const ServerRows rows =
        link_.ask(sql("SELECT number, scale, descriptor FROM {S}.place WHERE number = ANY ($1)"),
                  {sql::int4_array(places)});
    std::unordered_map<int, int> at;
    for (int i = 0; i < rows.count(); ++i) at[rows.integer_in(i, 0, 0, kLargestNumber)] = i;
    ordered = {};
    for (const int place : places) {
      const auto found = at.find(place);
      if (found == at.end()) throw std::invalid_argument(missing(place));
      append_row(rows.bytes(found->second, 2), rows.real(found->second, 1), ordered);
    }
  });
  return ordered;
}

Rows ServerMap::rows_of(const std::vector<int>& places) const {
  Rows found(form_);
  talk([&] {
    const ServerRows rows = link_.ask(
        sql("SELECT number, scale, descriptor FROM {S}.place WHERE number = ANY ($1) ORDER BY 1"),
        {sql::int4_array(places)});
    std::vector<int> numbers;
    EncodedRows encoded;
    for (int i = 0; i < rows.count(); ++i) {
      numbers.push_back(rows.integer_in(i, 0, 0, kLargestNumber));
      append_row(rows.bytes(i, 2), rows.real(i, 1), encoded);
    }
    found = Rows(form_);
    found.add(encoded, numbers);
  });
  return found;
}

PackedLocalFeatures ServerMap::local(int place) const {
  PackedLocalFeatures local;
  talk([&] {
    const ServerRows rows =
        link_.ask(sql("SELECT dim, grid_height, grid_width, data FROM {S}.local "
                      "WHERE number = $1 AND shard = $2"),
                  {sql::int4(place), sql::int2(static_cast<std::int16_t>(place % shards_))});
    if (place < 0 || rows.count() != 1) {
      throw std::invalid_argument(fmt::format("the map has no local features of place {}", place));
    }
    local = local_of(rows, 0, 0);
  });
  return local;
}

PackedLocalFeatures ServerMap::local_of(const ServerRows& rows, int row, int column) const {
  PackedLocalFeatures local;
  local.dim = rows.integer_in(row, column, 0, kLargestNumber);
  local.grid_height = rows.integer_in(row, column + 1, 0, kLargestNumber);
  local.grid_width = rows.integer_in(row, column + 2, 0, kLargestNumber);
  const std::string_view bytes = rows.bytes(row, column + 3);
  local.bytes.assign(bytes.begin(), bytes.end());
  return local;
}

PlaceBatch ServerMap::next(int first, int count) const {
  PlaceBatch batch;
  batch.numbers = places_from(first, count, batch.places);
  batch.rows = get_rows(batch.numbers);
  if (!state().locals) return batch;
  talk([&] {
    const ServerRows rows =
        link_.ask(sql("SELECT number, dim, grid_height, grid_width, data FROM {S}.local "
                      "WHERE number = ANY ($1) ORDER BY number"),
                  {sql::int4_array(batch.numbers)});
    if (rows.count() != std::ssize(batch.numbers)) damaged("places without local features");
    batch.locals.clear();
    for (int i = 0; i < rows.count(); ++i) batch.locals.push_back(local_of(rows, i, 1));
  });
  return batch;
}

std::vector<std::size_t> ServerMap::choose(const PlaceBatch& batch, bool only_new) const {
  std::unordered_set<std::string> there;
  if (only_new) {
    std::vector<std::string> names;
    for (const Place& place : batch.places) {
      if (!place.name.empty()) names.push_back(place.name);
    }
    const ServerRows rows = link_.ask(
        sql("SELECT DISTINCT name FROM {S}.place WHERE name = ANY ($1)"), {sql::text_array(names)});
    for (int i = 0; i < rows.count(); ++i) there.insert(rows.text(i, 0));
  }
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < batch.places.size(); ++i) {
    const std::string& name = batch.places[i].name;
    if (only_new && !name.empty() && !there.insert(name).second) continue;
    chosen.push_back(i);
  }
  return chosen;
}

void ServerMap::copy_places(const PlaceBatch& batch,
                            const std::vector<std::size_t>& chosen,
                            int first) {
  sql::CopyRows places, locals;
  for (std::size_t c = 0; c < chosen.size(); ++c) {
    const std::size_t i = chosen[c];
    const int number = batch.numbers.empty() ? first + static_cast<int>(c) : batch.numbers[i];
    const SqlValue shard = sql::int2(static_cast<std::int16_t>(number % shards_));
    const Place& place = batch.places[i];
    places.add(std::array{shard,
                          sql::int4(number),
                          sql::text(place.name),
                          sql::float8(place.stamp),
                          sql::float8(place.x),
                          sql::float8(place.y),
                          sql::int2(static_cast<std::int16_t>(place.utm_zone)),
                          sql::float8(place.heading),
                          sql::float4(batch.rows.scales[i]),
                          halfvec(batch.rows.row(static_cast<int>(i), form_))});
    if (batch.locals.empty()) continue;
    const PackedLocalFeatures& local = batch.locals[i];
    locals.add(std::array{shard,
                          sql::int4(number),
                          sql::int4(local.dim),
                          sql::int4(local.grid_height),
                          sql::int4(local.grid_width),
                          sql::bytes(local.bytes)});
  }
  link_.copy(sql("COPY {S}.place FROM STDIN (FORMAT binary)"), places.finished());
  if (batch.locals.empty()) return;
  link_.copy(sql("COPY {S}.local FROM STDIN (FORMAT binary)"), locals.finished());
}

bool ServerMap::was_written(Written& written) const {
  const ServerRows last =
      link_.ask(sql("SELECT first, added FROM {S}.writer WHERE id = $1 AND batch = $2"),
                {sql::text(writer_), sql::int8(batch_)});
  if (last.count() == 0) return false;
  written = {last.integer_in(0, 0, 0, kLargestNumber), last.integer_in(0, 1, 0, kLargestNumber)};
  return true;
}

ServerMap::Written ServerMap::write(const PlaceBatch& batch, bool only_new) {
  require_writable();
  const std::lock_guard lock(mutex_);
  Written written;
  bool again = false;
  ++batch_;
  link_.transaction([&] {
    // Others that write wait here.
    link_.ask(sql("SELECT 1 FROM {S}.map FOR UPDATE"));
    read_state();
    if (again && was_written(written)) return;  // only the answer was lost
    again = true;
    const std::vector<std::size_t> chosen = choose(batch, only_new);
    const auto count = static_cast<int>(chosen.size());
    written = {known_.end, count};
    if (count == 0) return;
    const bool keeps = known_.size() == 0 ? !batch.locals.empty() : known_.locals;
    if (keeps == batch.locals.empty()) {
      throw std::invalid_argument(fmt::format("{} keeps {}local features, the new places have {}",
                                              file.string(),
                                              keeps ? "" : "no ",
                                              keeps ? "none" : "some"));
    }
    if (count > kLargestNumber - known_.end) {
      throw std::invalid_argument("the map has no numbers left for places");
    }
    copy_places(batch, chosen, known_.end);
    const int next = batch.numbers.empty() ? known_.end + count : batch.numbers.back() + 1;
    link_.ask(sql("UPDATE {S}.map SET next_number = $1, places = places + $2, locals = $3"),
              {sql::int4(next), sql::int4(count), sql::boolean(keeps)});
    link_.ask(sql("INSERT INTO {S}.writer VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO UPDATE SET "
                  "batch = excluded.batch, first = excluded.first, added = excluded.added, "
                  "at = now()"),
              {sql::text(writer_), sql::int8(batch_), sql::int4(known_.end), sql::int4(count)});
    read_state();
  });
  return written;
}

int ServerMap::add(PlaceBatch batch) {
  const Written written = write(batch, false);
  return batch.numbers.empty() ? written.first : batch.numbers.front();
}

int ServerMap::add_new(const PlaceBatch& batch) { return write(batch, true).count; }

void ServerMap::remove(const std::vector<int>& places) {
  require_writable();
  const std::lock_guard lock(mutex_);
  link_.transaction([&] {
    link_.ask(sql("SELECT 1 FROM {S}.map FOR UPDATE"));
    const SqlValue numbers = sql::int4_array(places);
    link_.ask(sql("DELETE FROM {S}.local WHERE number = ANY ($1)"), {numbers});
    const int gone =
        link_.ask(sql("DELETE FROM {S}.place WHERE number = ANY ($1) RETURNING number"), {numbers})
            .count();
    link_.ask(sql("UPDATE {S}.map SET places = places - $1, locals = locals AND places > $1"),
              {sql::int4(gone)});
    read_state();
  });
}

}  // namespace ria
