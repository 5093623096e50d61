// SPDX-License-Identifier: MIT
// How near ria comes to what the machine can do. Machines are shared and noisy: every figure is the
// best of several rounds, the rounds of compared things alternate, and what is judged is a ratio
// within one run.
#include <cblas.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "approximate.h"
#include "loops.h"
#include "mixed.h"
#include "networks.h"
#include "query.h"
#include "ria/ria.h"
#include "search.h"
#include "timing.h"
#include "train_step.h"
#include "util/files.h"
#include "util/parallel.h"
#include "winograd.h"

namespace {

using namespace ria;
using namespace ria::bench;
namespace fs = std::filesystem;

Matrix random_matrix(int rows, int columns, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  Matrix out(rows, columns);
  for (float& value : out.values()) value = normal(engine);
  return out;
}

/// The bare product, on all cores, as BLAS does it.
void sgemm(const Matrix& a, const Matrix& b, Matrix& c) {
  const int m = a.rows(), n = b.cols(), k = a.cols();
  cblas_sgemm(CblasRowMajor,
              CblasNoTrans,
              CblasNoTrans,
              m,
              n,
              k,
              1,
              a.data(),
              k,
              b.data(),
              n,
              0,
              c.data(),
              n);
}

class Bench {
 public:
  Bench(int rounds, int places) : rounds_(rounds), places_(places) {}

  /// The network against the machine's own matrix product: one picture on all cores, and one a
  /// core.
  void network() {
    const int n = 2048, height = 272, width = 480;
    const Matrix a = random_matrix(n, n, 1), b = random_matrix(n, n, 2);
    Matrix c(n, n);
    const auto backbone = make_backbone("resnet50");
    const auto quick = make_network("resnet50", "", Precision::kInt8);
    const Pixels pixels{height, width, std::vector<float>(3u * height * width, 1.0f)};
    const int cores = num_cores();
    const auto best =
        best_of(rounds_,
                {[&] { sgemm(a, b, c); },
                 [&] { backbone->extract(pixels); },
                 [&] { parallel_for(2 * cores, cores, [&](int) { backbone->extract(pixels); }); },
                 [&] { quick->extract(pixels); }});
    const double sgemm = 2.0 * n * n * n / best[0] / 1e9;
    const double flops = backbone->flops(height, width);
    put("cores", cores);
    put("sgemm_gflops", sgemm);
    put("resnet50_gflops", flops / best[1] / 1e9);
    put("resnet50_share_of_sgemm", flops / best[1] / 1e9 / sgemm);
    put("resnet50_picture_per_core_gflops", 2 * cores * flops / best[2] / 1e9);
    put("resnet50_picture_per_core_share_of_sgemm", 2 * cores * flops / best[2] / 1e9 / sgemm);
    put("resnet50_int8_over_fp32", best[1] / best[3]);
  }

  /// Transformers of published shapes with random weights against the machine's matrix product, in
  /// float32 and in 8 bits, all cores on one picture.
  void transformers() {
    const int n = 2048;
    const Matrix a = random_matrix(n, n, 1), b = random_matrix(n, n, 2);
    Matrix c(n, n);
    const RandomWeights folder;
    for (const std::string name : {"vits14", "vitb14"}) {
      const std::string weights = folder.write(name);
      const auto exact = make_network(name, weights, Precision::kFp32);
      const auto quick = make_network(name, weights, Precision::kInt8);
      for (const int side : {224, 518}) {
        const Pixels pixels = random_pixels(side, side);
        const auto best = best_of(rounds_,
                                  {[&] { sgemm(a, b, c); },
                                   [&] { exact->extract(pixels); },
                                   [&] { quick->extract(pixels); }});
        const double rate = exact->flops(side, side) / best[1] / 1e9;
        const std::string key = fmt::format("{}_{}_", name, side);
        put(key + "ms", best[1] * 1e3);
        put(key + "gflops", rate);
        put(key + "share_of_sgemm", rate / (2.0 * n * n * n / best[0] / 1e9));
        put(key + "int8_ms", best[2] * 1e3);
        put(key + "int8_over_fp32", best[1] / best[2]);
      }
    }
  }

  /// The whole head of the paper's setting against the one product it cannot do without.
  void head() {
    const int patches = 1530, dim = 1536;
    const PatchFeatures features{random_matrix(patches, dim, 3), 34, 45, {}};
    const Matrix projection = random_orthogonal(dim, 64, 42);
    Matrix projected(patches, 64);
    const auto ria_head = make_ria(dim, {}, projection);
    const auto best = best_of(3 * rounds_,
                              {[&] { sgemm(features.patches, projection, projected); },
                               [&] { ria_head->aggregate(features); }});
    put("projection_gemm_ms", best[0] * 1e3);
    put("head_ms", best[1] * 1e3);
    put("head_over_gemm", best[1] / best[0]);
  }

  /// riax of three lengths beside the network it stands behind, one picture on one core.
  void riax() {
    const auto backbone = make_backbone("resnet50");
    const Pixels pixels = random_pixels(272, 480);
    const PatchFeatures features = backbone->extract(pixels);
    std::vector<std::unique_ptr<Aggregator>> heads;
    std::vector<std::function<void()>> timed{[&] { backbone->extract(pixels); }};
    for (const int d : kRiaxDims) {
      heads.push_back(make_riax(backbone->dim(), {.d = d}, backbone->reading()));
      timed.push_back([&features, head = heads.back().get()] { head->aggregate(features); });
    }
    set_thread_cores(1);
    const auto best = best_of(rounds_, timed);
    set_thread_cores(0);
    put("resnet50_one_core_ms", best[0] * 1e3);
    for (std::size_t h = 0; h < heads.size(); ++h) {
      put(fmt::format("riax_{}_ms", heads[h]->dim()), best[h + 1] * 1e3);
      put(fmt::format("riax_{}_share_of_resnet50", heads[h]->dim()), best[h + 1] / best[0]);
    }
  }

  void matrix_root() {
    const MatrixD c = ria_covariance({random_matrix(1530, 64, 4), 34, 45, {}}, {}, {});
    const auto best =
        best_of(3 * rounds_, {[&] { newton_schulz_sqrt(c, 3); }, [&] { matrix_power(c, 0.5); }});
    put("ns3_us", best[0] * 1e6);
    put("exact_sqrt_us", best[1] * 1e6);
    put("ns3_speedup_over_exact", best[1] / best[0]);
  }

  /// One query against 100 places by patches as they are kept, on all cores: pictures of 480x272.
  void rerank() {
    constexpr int kPlaces = 100, kHeight = 17, kWidth = 30, kDim = 1024;
    const auto reranker = make_patch_reranker(kDim);
    std::vector<PackedLocalFeatures> kept;
    for (int i = 0; i <= kPlaces; ++i) {
      const Matrix patches = random_matrix(kHeight * kWidth, kDim, 5 + i);
      kept.push_back(pack(reranker->extract({patches, kHeight, kWidth, {}})));
    }
    std::vector<Match> matches(kPlaces);
    for (int i = 0; i < kPlaces; ++i) matches[i] = {i, 1.0f / static_cast<float>(i + 1)};
    std::vector<double> scores(kPlaces);
    std::vector<Likeness> likenesses(kPlaces);
    const int cores = num_cores();
    const auto best = best_of(3 * rounds_, {[&] {
                                parallel_for(cores, cores, [&](int core) {
                                  const auto query = reranker->prepare(kept[kPlaces]);
                                  for (int i = core; i < kPlaces; i += cores) {
                                    scores[i] = query->compare(kept[i]).score;
                                    likenesses[i] = query->likeness();
                                  }
                                });
                                reranker->reorder(matches, scores, likenesses);
                              }});
    put("rerank_100_places_ms", best[0] * 1e3);
    put("rerank_bytes_a_place", static_cast<double>(kept[0].bytes.size()));
  }

  /// What pooling costs beside the network, for one picture of 322x322 pixels on all cores.
  void aggregators() {
    CheckOptions options;
    options.side = 322;
    options.all_alike = true;
    options.rounds = std::max(2, rounds_ / 3);
    options.progress = [this](const MethodCheck& check) {
      if (!check.error.empty()) throw std::runtime_error(check.method + ": " + check.error);
      fmt::print("{:<42} backbone {:.4g} ms, aggregator {:.4g} ms\n",
                 check.method,
                 1e3 * check.backbone_seconds,
                 1e3 * check.aggregate_seconds);
      put("aggregator_share_" + check.method, check.aggregate_seconds / check.backbone_seconds);
    };
    check_methods({}, options);
  }

  /// The same for the systems of VPR-methods-evaluation, at each one's own size where it has one. A
  /// share above a tenth has a reason: BoQ's 3x3 convolution and attention over ResNet50's 1024
  /// channels alone take 0.78 of the network's operations.
  void systems() {
    CheckOptions options;
    options.side = 322;
    options.rounds = std::max(2, rounds_ / 2);
    options.progress = [this](const MethodCheck& check) {
      if (!check.error.empty()) throw std::runtime_error(check.method + ": " + check.error);
      const double share = check.aggregate_seconds / check.backbone_seconds;
      fmt::print("{:<20} backbone {:>7.1f} ms  head {:>6.1f} ms  {:>5.1f} %{}\n",
                 check.method,
                 1e3 * check.backbone_seconds,
                 1e3 * check.aggregate_seconds,
                 1e2 * share,
                 share > 0.1 ? "  above a tenth" : "");
      put("head_share_" + check.method, share);
    };
    check_methods({"megaloc",
                   "boq-dinov2-12288",
                   "boq-resnet50-16384",
                   "supervlad",
                   "cricavpr",
                   "convap-512",
                   "convap-8192",
                   "edtformer",
                   "dinomix",
                   "qaa-8192",
                   "qaa-1024",
                   "apgem",
                   "sfrs",
                   "clique-mining",
                   "salad-indoor",
                   "eigenplaces-indoor"},
                  options);
  }

  /// What the rule for Winograd's algorithm rests on.
  void winograd() {
    winograd_table(rounds_, [this](const std::string& key, double value) { put(key, value); });
  }

  /// One step of training, which bench/peers/train_step.py compares with PyTorch's.
  void train() {
    train_step(rounds_, [this](const std::string& key, double value) { put(key, value); });
  }

  /// Exact search, the opening of a map, and approximate search.
  void search() {
    const auto show = [this](const std::string& key, double value) { put(key, value); };
    ria::bench::search(std::min(places_, 1'000'000), rounds_, show);
    approximate(places_, rounds_, show);
  }
  void approximate_search() {
    approximate(
        places_, rounds_, [this](const std::string& key, double value) { put(key, value); });
  }

  void mixed(const std::vector<fs::path>& ground_truths) {
    ria::bench::mixed(
        ground_truths, places_, [this](const std::string& key, double value) { put(key, value); });
  }

  /// Everything behind the network for one picture of a drive.
  void loops() {
    ria::bench::loops(
        places_, rounds_, [this](const std::string& key, double value) { put(key, value); });
  }

  /// From JPEG files to descriptors.
  void end_to_end() {
    const fs::path folder = fs::temp_directory_path() / fmt::format("ria_bench_{}", ::getpid());
    SimulateOptions street;
    street.places = 12 * num_cores();
    street.height = 480;
    street.width = 640;
    const SimulatedFolders made = simulate(folder, street);
    const auto pictures = list_pictures(made.database);
    const Recognizer recognizer("resnet50-ria");
    RunOptions run;
    run.resume = false;
    double best = std::numeric_limits<double>::infinity();
    for (int round = 0; round < std::max(2, rounds_ / 3); ++round) {
      best = std::min(best, seconds([&] { recognizer.describe(pictures, run); }));
    }
    fs::remove_all(folder);
    put("pictures_per_second", static_cast<double>(pictures.size()) / best);
  }

  const nlohmann::ordered_json& results() const { return results_; }

 private:
  void put(const std::string& key, double value) {
    results_[key] = value;
    fmt::print("{:<42} {:.4g}\n", key, value);
    std::fflush(stdout);
  }

  static constexpr int kRiaxDims[] = {64, 128, 256};

  int rounds_, places_;
  nlohmann::ordered_json results_;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App program{"Measures ria against the machine's own limits", "ria_bench"};
  std::string json;
  int rounds = 9;
  program.add_option("--json", json, "write the figures to this file")->type_name("FILE");
  program.add_option("--rounds", rounds, "rounds of each measurement; the best counts")
      ->capture_default_str();
  std::string only;
  program.add_option(
      "--only",
      only,
      "one part: network, transformers, head, riax, matrix_root, rerank, aggregators, "
      "systems, search (and of that approximate alone), loops, end_to_end, or winograd or train, "
      "which are left out otherwise");
  int places = 100'000;
  program.add_option("--places", places, "places that are searched")->capture_default_str();
  NetworkRun run;
  add_network_flags(program, run);
  std::vector<fs::path> ground_truths;
  program
      .add_option("--mixed",
                  ground_truths,
                  "recall of these ground truths (gt.json) among so many made places, exact and "
                  "approximate")
      ->type_name("FILE...");
  std::vector<std::string> query;
  double query_seconds = 3;
  program.add_option("--query", query, "time one question: a map and a picture")
      ->expected(2)
      ->type_name("MAP PICTURE");
  program.add_option("--seconds", query_seconds, "of --query")->capture_default_str();
  CLI11_PARSE(program, argc, argv);
  try {
    if (!run.write.empty()) return write_random_weights(run.network, run.write), 0;
    if (!run.network.empty()) return run_network(run, rounds), 0;
    if (!query.empty()) return time_queries(query[0], query[1], query_seconds), 0;
    Bench bench(rounds, places);
    if (!ground_truths.empty()) return bench.mixed(ground_truths), 0;
    const std::vector<std::pair<std::string, void (Bench::*)()>> parts = {
        {"network", &Bench::network},
        {"transformers", &Bench::transformers},
        {"head", &Bench::head},
        {"riax", &Bench::riax},
        {"matrix_root", &Bench::matrix_root},
        {"rerank", &Bench::rerank},
        {"aggregators", &Bench::aggregators},
        {"systems", &Bench::systems},
        {"search", &Bench::search},
        {"approximate", &Bench::approximate_search},
        {"loops", &Bench::loops},
        {"end_to_end", &Bench::end_to_end},
        {"winograd", &Bench::winograd},
        {"train", &Bench::train}};
    for (const auto& [name, part] : parts) {
      const bool apart = name == "winograd" || name == "train" || name == "approximate";
      if (only.empty() ? !apart : only == name) (bench.*part)();
    }
    if (!json.empty()) write_text(json, bench.results().dump(2) + "\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "ria_bench: {}\n", error.what());
    return 1;
  }
}
