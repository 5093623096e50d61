// SPDX-License-Identifier: MIT
// What people use for the same search: FAISS's flat index and its HNSW32, as Debian builds them, on
// the places that `ria_bench --only approximate` makes.
#include <faiss/Index.h>
#include <faiss/IndexFlat.h>
#include <faiss/IndexHNSW.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "../made_places.h"
#include "../process_memory.h"
#include "../timing.h"
#include "util/files.h"

namespace {

using namespace ria::bench;

constexpr int kTogether = 8192;

/// Seconds that adding takes; making the places does not count.
double add_places(faiss::Index& index, const MadePlaces& made, int places) {
  double spent = 0;
  for (int first = 0; first < places; first += kTogether) {
    const ria::Matrix rows = made.places(first, std::min(kTogether, places - first));
    spent += seconds([&] { index.add(rows.rows(), rows.data()); });
  }
  return spent;
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
double recall(const Asked& asked, const Asked& right) {
  int same = 0;
  for (std::size_t q = 0; q < right.scores.size(); ++q) {
    same += asked.scores[q] >= right.scores[q] - 1e-6f;
  }
  return static_cast<double>(same) / static_cast<double>(right.scores.size());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App program{"Searches made places with FAISS", "ria_bench_faiss"};
  int places = 100'000;
  std::string json;
  program.add_option("--places", places)->capture_default_str();
  program.add_option("--json", json, "write the figures to this file")->type_name("FILE");
  CLI11_PARSE(program, argc, argv);
  try {
    nlohmann::ordered_json results;
    const auto put = [&](const std::string& key, double value) {
      results[key] = value;
      fmt::print("{:<42} {:.4g}\n", key, value);
      std::fflush(stdout);
    };
    const MadePlaces made;
    const ria::Matrix queries = made.queries(asked_places(places));
    Asked right;
    const auto run = [&](const std::string& name, std::unique_ptr<faiss::Index> index) {
      const double before = process_memory("VmRSS:");
      put(name + "_build_s", add_places(*index, made, places));
      put(name + "_resident_bytes", process_memory("VmRSS:") - before);
      return index;
    };
    {
      const auto flat = run("faiss_flat", std::make_unique<faiss::IndexFlatIP>(made.dim()));
      ask(*flat, queries);
      right = ask(*flat, queries);
      put("faiss_flat_ms", right.ms);
    }
    const auto graph =
        run("faiss_hnsw32",
            std::make_unique<faiss::IndexHNSWFlat>(made.dim(), 32, faiss::METRIC_INNER_PRODUCT));
    for (const int ef : {16, 64, 256}) {
      dynamic_cast<faiss::IndexHNSW&>(*graph).hnsw.efSearch = ef;
      ask(*graph, queries);
      const Asked asked = ask(*graph, queries);
      put(fmt::format("faiss_hnsw32_ef{}_ms", ef), asked.ms);
      put(fmt::format("faiss_hnsw32_ef{}_recall_at_1", ef), recall(asked, right));
    }
    if (!json.empty()) ria::write_text(json, results.dump(2) + "\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "ria_bench_faiss: {}\n", error.what());
    return 1;
  }
}
