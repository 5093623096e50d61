// SPDX-License-Identifier: MIT
#include "index/approximate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "index/best.h"
#include "index/scan.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

constexpr int kLooked = 8;  // blocks whose pages are compared when a structure is opened
constexpr std::size_t kFirstRead = 64;  // places, whose cosines tell how far codes are wrong
constexpr double kUnlikely = 0.01;

/// By how much cosines exceed the scores of codes.
class CodeErrors {
 public:
  void add(double error) {
    sum_ += error;
    squares_ += error * error;
    ++count_;
  }
  /// Whether fewer than one in a hundred queries has a better place among `left` further ones, if
  /// all of these score as much as the first of them, `most`: really it is far fewer.
  bool none_reaches(double cosine, double most, std::size_t left) const {
    const double mean = sum_ / count_;
    const double deviation = std::sqrt(std::max(1e-12, squares_ / count_ - mean * mean));
    const double beyond = (cosine - most - mean) / deviation;
    return static_cast<double>(left) * std::erfc(beyond / std::numbers::sqrt2) / 2 < kUnlikely;
  }

 private:
  double sum_ = 0, squares_ = 0, count_ = 0;
};

bool same(const SearchBlock& a, const SearchBlock& b) {
  return a.first == b.first && a.last == b.last && a.checksum == b.checksum;
}

}  // namespace

std::unique_ptr<Approximate> Approximate::open(const MapStore& store, std::string& why) {
  why.clear();
  const fs::path file = search_file_of(store.database().file());
  std::error_code none;
  if (store.database().mode() == Database::Mode::kMemory || !fs::exists(file, none)) return {};
  try {
    auto found = std::make_unique<Approximate>(SearchFile::open(file));
    if (found->candidates->file.shape().dim == store.form().dim && found->follow(store) &&
        found->sample_is_sound(store)) {
      return found;
    }
    why = fmt::format("{} is of another state of the map", file.string());
  } catch (const std::runtime_error& error) {
    why = error.what();
  }
  return {};
}

SearchInfo Approximate::info() const {
  const SearchFile& file = candidates->file;
  SearchInfo info;
  info.places = file.shape().places;
  if (file.shape().kind == SearchKind::kGraph) {
    info.kind = "hnsw";
    info.ef = file.measure().probes;
  } else {
    info.kind = "ivfpq";
    info.lists = file.shape().lists;
    info.probes = file.measure().probes;
  }
  info.refined = file.measure().refined;
  info.recall = file.measure().recall;
  info.held_out = file.measure().held_out;
  info.bytes = file.bytes();
  return info;
}

bool Approximate::follow(const MapStore& store) {
  const SearchFile& file = candidates->file;
  const MapState state = store.state();
  if (state.end < end()) return false;
  const std::vector<SearchBlock> now = store.blocks();
  sound_.assign(file.blocks().size(), false);
  std::size_t count = 0, at = 0;
  for (std::size_t i = 0; i < file.blocks().size(); ++i) {
    while (at < now.size() && now[at].first < file.blocks()[i].first) ++at;
    sound_[i] = at < now.size() && same(now[at], file.blocks()[i]);
    count += sound_[i];
  }
  if (4 * count < 3 * file.blocks().size()) return false;
  gone_.assign(static_cast<std::size_t>(end()), false);
  if (state.removed == 0) return true;
  gone_.assign(static_cast<std::size_t>(end()), true);
  for (const int place : store.numbers()) {
    if (place < end()) gone_[static_cast<std::size_t>(place)] = false;
  }
  return true;
}

/// A file that was rewritten by other means has all its pages elsewhere.
bool Approximate::sample_is_sound(const MapStore& store) const {
  const auto blocks = candidates->file.blocks();
  const std::size_t step = std::max<std::size_t>(1, blocks.size() / kLooked);
  for (std::size_t i = 0; i < blocks.size(); i += step) {
    if (!sound_[i] || blocks[i].rows == 0 || blocks[i].page == 0) continue;
    if (store.live_block(blocks[i]).block.page != blocks[i].page) return false;
  }
  return true;
}

int Approximate::block_of(int place) const {
  const auto blocks = candidates->file.blocks();
  const auto after = std::ranges::upper_bound(blocks, place, {}, &SearchBlock::first);
  return static_cast<int>(after - blocks.begin()) - 1;
}

/// A block that loses places may be written anew, and take the one before it along.
void Approximate::remove(const std::vector<int>& places) {
  for (const int place : places) {
    if (place < 0 || place >= end()) continue;
    gone_[static_cast<std::size_t>(place)] = true;
    const int block = block_of(place);
    for (int i = std::max(0, block - 1); i <= block; ++i)
      sound_[static_cast<std::size_t>(i)] = false;
  }
}

Approximate::Found Approximate::find(const Matrix& queries,
                                     int k,
                                     const SearchOptions& options) const {
  const auto allowed = [&](int place) {
    return place < options.before && has(place) && (!options.allowed || options.allowed(place));
  };
  Found found;
  for (int q = 0; q < queries.rows(); ++q) {
    found.push_back(candidates->find(queries.row(q), k, allowed));
  }
  return found;
}

/// False: there is no such place any more.
bool Approximate::read(const MapStore& store,
                       int place,
                       bool changed,
                       std::span<std::uint8_t> row) const {
  const int i = block_of(place);
  const SearchBlock& block = candidates->file.blocks()[static_cast<std::size_t>(i)];
  const bool as_it_was = changed ? store.has_block(block) : sound_[static_cast<std::size_t>(i)];
  if (as_it_was && block.rows > 0 && place - block.first < block.rows) {
    store.read_row(block, place, row);
    return true;
  }
  if (!store.has(place)) return false;
  const int one[] = {place};
  const EncodedRows rows = store.get_rows(one);
  std::ranges::copy(rows.data, row.begin());
  return true;
}

/// The cosines of some places with a query; of those that are gone NaN.
std::vector<float> Approximate::compare(const MapStore& store,
                                        std::span<const CodedPlace> some,
                                        const EncodedQueries& queries,
                                        int query,
                                        bool changed) const {
  const RowForm& form = store.form();
  const ScanFunction scan = scan_function(*scan_kernels().front(), form.storage);
  AlignedBuffer<std::uint8_t> rows(some.size() * form.row_bytes());
  std::vector<float> cosines(some.size());
  std::vector<bool> there;
  for (std::size_t i = 0; i < some.size(); ++i) {
    there.push_back(read(
        store, some[i].place, changed, {rows.data() + i * form.row_bytes(), form.row_bytes()}));
  }
  scan({rows.data(),
        static_cast<int>(some.size()),
        queries.at(query),
        1,
        form.values(),
        cosines.data()});
  for (std::size_t i = 0; i < some.size(); ++i) {
    cosines[i] = there[i] ? cosines[i] * some[i].scale * queries.scales[query] : NAN;
  }
  return cosines;
}

/// The most promising first, until it is most unlikely that a better one is among the rest.
std::vector<std::vector<Match>> Approximate::refine(
    const MapStore& store, const Matrix& queries, const Found& found, int k, bool changed) const {
  const EncodedQueries encoded(queries, store.form());
  std::vector<std::vector<Match>> answers;
  for (int q = 0; q < queries.rows(); ++q) {
    std::vector<CodedPlace> all = found[static_cast<std::size_t>(q)];
    std::ranges::sort(all, [](const CodedPlace& a, const CodedPlace& b) {
      return a.score > b.score || (a.score == b.score && a.place < b.place);
    });
    Best best(static_cast<std::size_t>(k));
    CodeErrors errors;
    for (std::size_t done = 0; done < all.size();) {
      const std::size_t left = all.size() - done;
      if (best.full() && errors.none_reaches(best.least(), all[done].score, left)) break;
      const auto next =
          std::span(all).subspan(done, std::min(std::max(kFirstRead, done / 2), left));
      const std::vector<float> cosines = compare(store, next, encoded, q, changed);
      for (std::size_t i = 0; i < next.size(); ++i) {
        best.show({next[i].place, cosines[i]});
        if (!std::isnan(cosines[i])) errors.add(double{cosines[i]} - next[i].score);
      }
      done += next.size();
    }
    answers.push_back(std::move(best).sorted());
  }
  return answers;
}

}  // namespace ria
