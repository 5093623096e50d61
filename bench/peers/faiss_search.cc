// SPDX-License-Identifier: MIT
// What people use for the same search: FAISS's flat index and its HNSW32, as Debian builds them, on
// the places that `ria_bench --only approximate` makes.
#include <faiss/Index.h>
#include <faiss/IndexFlat.h>
#include <faiss/IndexHNSW.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "../made_places.h"
#include "../process_memory.h"
#include "../timing.h"
#include "util/files.h"

namespace {

using namespace ria::bench;

using Put = std::function<void(const std::string& key, double value)>;

constexpr int kTogether = 8192;

/// A graph of a million takes hours: what is done of it is kept, and the same command goes on from
/// there. The vectors are made anew.
class KeptGraph {
 public:
  KeptGraph(std::filesystem::path file, int places) : file_(std::move(file)), places_(places) {}

  nlohmann::ordered_json results;  ///< of what was measured before
  std::vector<float> right;        ///< what the flat index found
  double spent = 0;                ///< seconds on the graph

  /// The number of places that the graph holds.
  int restore(faiss::HNSW& graph) {
    if (file_.empty() || !std::filesystem::exists(file_)) return 0;
    const std::vector<std::uint8_t> bytes = ria::read_bytes(file_);
    const auto kept = nlohmann::ordered_json::from_cbor(bytes);
    if (kept.at("places").get<int>() != places_) {
      throw std::runtime_error(fmt::format(
          "{} is of {} places, not of {}", file_.string(), kept.at("places").get<int>(), places_));
    }
    results = kept.at("results");
    right = kept.at("right").get<std::vector<float>>();
    spent = kept.at("spent").get<double>();
    graph.entry_point = kept.at("entry_point").get<int>();
    graph.max_level = kept.at("max_level").get<int>();
    take(kept.at("levels").get_binary(), graph.levels);
    take(kept.at("offsets").get_binary(), graph.offsets);
    take(kept.at("neighbors").get_binary(), graph.neighbors);
    return static_cast<int>(graph.levels.size());
  }
  void keep(const faiss::HNSW& graph) const {
    if (file_.empty()) return;
    nlohmann::ordered_json kept{{"places", places_},
                                {"results", results},
                                {"right", right},
                                {"spent", spent},
                                {"entry_point", graph.entry_point},
                                {"max_level", graph.max_level},
                                {"levels", bytes_of(graph.levels)},
                                {"offsets", bytes_of(graph.offsets)},
                                {"neighbors", bytes_of(graph.neighbors)}};
    const std::vector<std::uint8_t> bytes = nlohmann::ordered_json::to_cbor(kept);
    ria::AtomicFile file(file_);
    file.write(bytes);
    file.commit();
  }

 private:
  template <typename T>
  static nlohmann::ordered_json bytes_of(const std::vector<T>& values) {
    const auto* first = reinterpret_cast<const std::uint8_t*>(values.data());
    return nlohmann::ordered_json::binary(
        std::vector<std::uint8_t>(first, first + values.size() * sizeof(T)));
  }
  template <typename T>
  static void take(const std::vector<std::uint8_t>& bytes, std::vector<T>& to) {
    to.resize(bytes.size() / sizeof(T));
    std::memcpy(to.data(), bytes.data(), to.size() * sizeof(T));
  }

  std::filesystem::path file_;
  int places_;
};

void show(int done, int places, double spent) {
  fmt::print(stderr,
             "\r{} of {} places, {:.0f}/s, {:.0f} s left at that rate ",
             done,
             places,
             done / spent,
             (places - done) * spent / done);
  if (done >= places) fmt::print(stderr, "\n");
}

/// Calls add(rows) for places [first, places).
template <typename Add>
void each_batch(const MadePlaces& made, int first, int places, const Add& add) {
  for (; first < places; first += kTogether) {
    add(made.places(first, std::min(kTogether, places - first)));
  }
}

/// Seconds that adding takes; making the places does not count.
double add_places(faiss::Index& index, const MadePlaces& made, int places) {
  double spent = 0;
  each_batch(made, 0, places, [&](const ria::Matrix& rows) {
    spent += seconds([&] { index.add(rows.rows(), rows.data()); });
    show(static_cast<int>(index.ntotal), places, spent);
  });
  return spent;
}

/// The same of a graph, of which some may be kept.
void add_places(faiss::IndexHNSW& index, const MadePlaces& made, int places, KeptGraph& kept) {
  constexpr int kKeepEvery = 4;  // batches
  const int before = static_cast<int>(index.hnsw.levels.size());
  each_batch(made, 0, before, [&](const ria::Matrix& rows) {
    index.storage->add(std::min<int>(rows.rows(), before - index.storage->ntotal), rows.data());
  });
  index.ntotal = before;
  each_batch(made, before, places, [&](const ria::Matrix& rows) {
    index.hnsw.rng = faiss::RandomGenerator(index.ntotal + 1);  // levels do not depend on stops
    kept.spent += seconds([&] { index.add(rows.rows(), rows.data()); });
    show(static_cast<int>(index.ntotal), places, kept.spent);
    if (index.ntotal / kTogether % kKeepEvery == 0 || index.ntotal == places) kept.keep(index.hnsw);
  });
}

struct Asked {
  double ms = 0;  // a query, one at a time
  std::vector<float> scores;
};

Asked ask(const faiss::Index& index, const ria::Matrix& queries) {
  Asked asked;
  faiss::Index::idx_t place = -1;
  float score = 0;
  asked.ms = 1e3 / queries.rows() * seconds([&] {
               for (int q = 0; q < queries.rows(); ++q) {
                 index.search(1, queries.row(q).data(), 1, &score, &place);
                 asked.scores.push_back(score);
               }
             });
  return asked;
}

/// Share of the queries whose answer is as good as the right one.
double recall(const std::vector<float>& asked, const std::vector<float>& right) {
  int same = 0;
  for (std::size_t q = 0; q < right.size(); ++q) same += asked[q] >= right[q] - 1e-6f;
  return static_cast<double>(same) / static_cast<double>(right.size());
}

void measure(int places, KeptGraph& kept, const Put& put) {
  const MadePlaces made;
  const ria::Matrix queries = made.queries(asked_places(places));
  faiss::IndexHNSWFlat graph(made.dim(), 32, faiss::METRIC_INNER_PRODUCT);
  if (kept.restore(graph.hnsw) == 0) {
    const double before = process_memory("VmRSS:");
    faiss::IndexFlatIP flat(made.dim());
    put("faiss_flat_build_s", add_places(flat, made, places));
    put("faiss_flat_resident_bytes", process_memory("VmRSS:") - before);
    const Asked right = ask(flat, queries);  // 8 KB a place: no cache to warm up
    put("faiss_flat_ms", right.ms);
    kept.right = right.scores;
  }
  const auto before_this_run = kept.results;
  for (const auto& [key, value] : before_this_run.items()) put(key, value);
  const double before = process_memory("VmRSS:");
  add_places(graph, made, places, kept);
  put("faiss_hnsw32_build_s", kept.spent);
  put("faiss_hnsw32_resident_bytes", process_memory("VmRSS:") - before);
  for (const int ef : {16, 64, 256}) {
    graph.hnsw.efSearch = ef;
    ask(graph, queries);
    const Asked asked = ask(graph, queries);
    put(fmt::format("faiss_hnsw32_ef{}_ms", ef), asked.ms);
    put(fmt::format("faiss_hnsw32_ef{}_recall_at_1", ef), recall(asked.scores, kept.right));
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App program{"Searches made places with FAISS", "ria_bench_faiss"};
  int places = 100'000;
  std::string json, keep;
  program.add_option("--places", places)->capture_default_str();
  program.add_option("--json", json, "add the figures to this file")->type_name("FILE");
  program.add_option("--keep", keep, "keep here what is done of the graph, and go on from it")
      ->type_name("FILE");
  CLI11_PARSE(program, argc, argv);
  try {
    // `./run bench --faiss` names one file for ria's figures and these.
    nlohmann::ordered_json results = nlohmann::ordered_json::object();
    if (!json.empty() && std::filesystem::exists(json)) {
      results = nlohmann::ordered_json::parse(ria::read_text(json));
    }
    KeptGraph kept(keep, places);
    measure(places, kept, [&](const std::string& key, double value) {
      results[key] = kept.results[key] = value;
      fmt::print("{:<42} {:.4g}\n", key, value);
      std::fflush(stdout);
    });
    if (!json.empty()) ria::write_text(json, results.dump(2) + "\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "ria_bench_faiss: {}\n", error.what());
    return 1;
  }
}
