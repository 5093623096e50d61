// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <exception>
#include <numeric>

#include "structure/candidates.h"
#include "structure/rounding.h"
#include "structure/tables.h"

namespace ria {

namespace {

constexpr int kMostEntry = 127;  // two of them fit into a byte
constexpr int kMostSum = 32767;
constexpr int kWorthThreads = 256;  // groups

bool better(const CodedPlace& a, const CodedPlace& b) {
  return a.score > b.score || (a.score == b.score && a.place < b.place);
}

double product(std::span<const float> a, std::span<const float> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Finds places in the lists nearest to a query.
class ListCandidates final : public Candidates {
 public:
  explicit ListCandidates(SearchFile file);

  std::vector<CodedPlace> find(std::span<const float> query,
                               int wanted,
                               const Allowed& allowed) const override;

 private:
  struct Tables;
  std::vector<std::pair<float, int>> lists_by_distance(std::span<const float> projected) const;
  std::size_t probes_for(const Allowed& allowed) const;
  double error_of(std::span<const float> query, std::span<const float> projected, int list) const;
  class Collector;
  void scan_list(int list, float base, const Tables& tables, Collector& to) const;
  std::vector<CodedPlace> scan_lists(std::span<const std::pair<float, int>> lists,
                                     std::span<const float> projected,
                                     const Tables& tables,
                                     const Collector& none) const;

  AlignedBuffer<float> centres_;
  std::vector<float> centre_squares_;
};

/// A query's product with every entry, in small whole numbers.
///
/// Codes do not say all: some of a place lies beside its code, and some of a query beside the code
/// that it would have. If the query shows the place these are alike as far as another day leaves
/// them, and add kRemains times the product of their lengths to the cosine. So a place of a kind
/// that there are few of, which codes say little of, is not overlooked for one that they say all
/// of.
struct ListCandidates::Tables {
  Tables(const SearchFile& file,
         std::span<const float> query,
         std::span<const float> projected,
         double query_error)
      : base(static_cast<float>(product(query, file.model().mean.first(query.size())))) {
    const SearchShape& shape = file.shape();
    const int part = shape.part(), parts = 2 * shape.pairs;
    std::vector<float> exact(static_cast<std::size_t>(parts) * kTableEntries);
    std::vector<float> least(static_cast<std::size_t>(parts));
    float range = 0;
    for (int p = 0; p < parts; ++p) {
      float* products = exact.data() + p * kTableEntries;
      for (int e = 0; e < kTableEntries; ++e) {
        const float* entry = file.model().tables.data() + (p * kTableEntries + e) * part;
        for (int i = 0; i < part; ++i) products[e] += entry[i] * projected[p * part + i];
      }
      const auto [low, high] = std::minmax_element(products, products + kTableEntries);
      least[p] = *low;
      base += *low;
      range = std::max(range, *high - *low);
    }
    const auto longest = 2 * kRemains * static_cast<float>(query_error);
    const int room = kMostSum - parts * kMostEntry;
    step = std::max(range / kMostEntry, longest / static_cast<float>(room));
    if (!(step > 0)) step = 1;
    error_factor = static_cast<std::uint16_t>(longest / step);
    entries.resize(exact.size());
    for (std::size_t i = 0; i < exact.size(); ++i) {
      entries[i] = static_cast<std::uint8_t>(
          std::clamp((exact[i] - least[i / kTableEntries]) / step + 0.5f, 0.0f, 127.0f));
    }
  }

  std::vector<std::uint8_t> entries;
  float base, step = 1;
  std::uint16_t error_factor = 0;  // see CodeTask
};

/// The best of what was shown, whatever the order was.
class ListCandidates::Collector {
 public:
  Collector(std::size_t wanted, const Allowed& allowed) : wanted_(wanted), allowed_(allowed) {}

  float threshold = -INFINITY;
  void add(const CodedPlace& one) {
    if (!allowed_(one.place)) return;
    found.push_back(one);
    if (found.size() >= 4 * wanted_ + kCodeGroup) shrink();
  }
  void shrink() {
    if (found.size() <= wanted_) return;
    std::nth_element(found.begin(),
                     found.begin() + static_cast<std::ptrdiff_t>(wanted_) - 1,
                     found.end(),
                     better);
    found.resize(wanted_);
    threshold = found.back().score;
  }

  std::vector<CodedPlace> found;

 private:
  std::size_t wanted_;
  const Allowed& allowed_;
};

ListCandidates::ListCandidates(SearchFile opened) : Candidates(std::move(opened)) {
  const SearchShape& shape = file.shape();
  // Rows of centres end with a whole line too.
  const int values = (shape.reduced + 15) / 16 * 16;
  centres_ = AlignedBuffer<float>(static_cast<std::size_t>(shape.lists) * values);
  for (int i = 0; i < shape.lists; ++i) {
    const auto centre =
        file.model().centres.subspan(static_cast<std::size_t>(i) * shape.reduced, shape.reduced);
    std::ranges::copy(centre, centres_.data() + static_cast<std::size_t>(i) * values);
    centre_squares_.push_back(static_cast<float>(product(centre, centre)));
  }
}

std::vector<std::pair<float, int>> ListCandidates::lists_by_distance(
    std::span<const float> projected) const {
  const SearchShape& shape = file.shape();
  const std::vector<float> sums = row_products(
      centres_.data(), shape.lists, from_mean(projected), (shape.reduced + 15) / 16 * 16);
  std::vector<std::pair<float, int>> lists;
  for (int i = 0; i < shape.lists; ++i) lists.emplace_back(centre_squares_[i] - 2 * sums[i], i);
  return lists;
}

void ListCandidates::scan_list(int list, float base, const Tables& tables, Collector& to) const {
  const int begin = list == 0 ? 0 : file.list_ends()[list - 1], end = file.list_ends()[list];
  const auto scan = scan_kernels().front()->codes;
  const auto score_of = [&](int sum) { return base + tables.step * static_cast<float>(sum); };
  // Sums below are not good enough; of equals all stay until the end, where numbers decide.
  const auto least_sum = [&] {
    return static_cast<int>(std::clamp((to.threshold - base) / tables.step - 1, 0.0f, 65536.0f));
  };
  int least = least_sum();
  std::uint16_t sums[kCodeGroup];
  for (int g = begin; g < end; ++g) {
    const CodeGroup group = file.group(g);
    const int most = scan({group.codes,
                           tables.entries.data(),
                           file.shape().pairs,
                           group.errors.data(),
                           tables.error_factor,
                           sums});
    if (most < least) continue;  // as most groups
    for (int i = 0; i < kCodeGroup; ++i) {
      if (sums[i] < least || group.places[i] < 0) continue;
      const float score = score_of(sums[i]);
      if (score >= to.threshold) to.add({score, group.places[i], group.scales[i]});
    }
    least = least_sum();
  }
}

std::vector<CodedPlace> ListCandidates::scan_lists(std::span<const std::pair<float, int>> lists,
                                                   std::span<const float> projected,
                                                   const Tables& tables,
                                                   const Collector& none) const {
  const int count = static_cast<int>(lists.size()), reduced = file.shape().reduced;
  Collector all = none;
  std::exception_ptr error;  // no exception may leave a thread
#pragma omp parallel if (file.shape().groups / file.shape().lists * count > kWorthThreads)
  {
    Collector own = none;
#pragma omp for schedule(dynamic, 1)
    for (int i = 0; i < count; ++i) {
      try {
        const int list = lists[i].second;
        const auto centre =
            file.model().centres.subspan(static_cast<std::size_t>(list) * reduced, reduced);
        scan_list(list, static_cast<float>(product(centre, projected)) + tables.base, tables, own);
      } catch (...) {
#pragma omp critical(ria_candidates)
        error = std::current_exception();
      }
    }
    own.shrink();
#pragma omp critical(ria_candidates)
    all.found.insert(all.found.end(), own.found.begin(), own.found.end());
  }
  if (error) std::rethrow_exception(error);
  all.shrink();
  return std::move(all.found);
}

/// So many lists that they hold as many allowed places as the measured number holds places: asked
/// of some places of all lists, the same ones each time.
std::size_t ListCandidates::probes_for(const Allowed& allowed) const {
  constexpr int kAsked = 256;
  const SearchShape& shape = file.shape();
  int asked = 0, there = 0;
  for (std::int64_t i = 0; i < kAsked && shape.groups > 0; ++i) {
    const CodeGroup group = file.group(static_cast<int>(i * shape.groups / kAsked));
    const int place = group.places[static_cast<std::size_t>(i % kCodeGroup)];
    if (place < 0) continue;
    ++asked;
    there += allowed(place);
  }
  const double least = 1.0 / shape.lists;
  const double share = asked == 0 ? 1 : std::max(least, static_cast<double>(there) / asked);
  const auto lists = static_cast<double>(shape.lists);
  return static_cast<std::size_t>(
      std::clamp(std::round(file.measure().probes / share), 1.0, lists));
}

/// How far a query is from the code that it would have in this list.
double ListCandidates::error_of(std::span<const float> query,
                                std::span<const float> projected,
                                int list) const {
  const SearchShape& shape = file.shape();
  const auto mean = file.model().mean.first(query.size());
  std::vector<float> off = from_mean(projected);
  const double all = product(query, query) - 2 * product(query, mean) + product(mean, mean);
  const double beyond = std::max(0.0, all - product(off, off));
  const auto centre = file.model().centres.subspan(static_cast<std::size_t>(list) * shape.reduced,
                                                   static_cast<std::size_t>(shape.reduced));
  for (std::size_t i = 0; i < off.size(); ++i) off[i] -= centre[i];
  return std::sqrt(beyond + nearest_entries(shape, file.model(), off.data(), nullptr));
}

std::vector<CodedPlace> ListCandidates::find(std::span<const float> query,
                                             int wanted,
                                             const Allowed& allowed) const {
  const std::vector<float> projected = project(query);
  std::vector<std::pair<float, int>> lists = lists_by_distance(projected);
  const int nearest = std::ranges::min_element(lists)->second;
  const Tables tables(file, query, projected, error_of(query, projected, nearest));
  // Where many places are not allowed, those that are shall be as good.
  const auto enough = static_cast<std::size_t>(std::max(wanted, file.measure().refined));
  const Collector none(enough, allowed);
  std::vector<CodedPlace> found;
  for (std::size_t probes = probes_for(allowed);; probes = std::min(2 * probes, lists.size())) {
    std::nth_element(
        lists.begin(), lists.begin() + static_cast<std::ptrdiff_t>(probes) - 1, lists.end());
    found = scan_lists(std::span(lists).first(probes), projected, tables, none);
    if (found.size() >= enough || probes == lists.size()) break;
  }
  std::ranges::sort(found, {}, &CodedPlace::place);
  return found;
}

}  // namespace

std::unique_ptr<Candidates> list_candidates(SearchFile file) {
  return std::make_unique<ListCandidates>(std::move(file));
}

}  // namespace ria
