// SPDX-License-Identifier: MIT
// Grids of recalls that are more than a list of rows.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "study/study.h"

namespace ria {

namespace {

constexpr const char* kSteps[] = {"0", "1e-7", "1e-6", "1e-5", "1e-4", "1e-3"};
constexpr int kSeeds[] = {0, 1, 10, 42, 101, 1001, 10001, 10002, 10010, 100001};

/// Seconds of the head on one picture, best of several.
double head_seconds(const Aggregator& head, const PatchFeatures& features) {
  using Clock = std::chrono::steady_clock;
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 15; ++round) {
    const auto start = Clock::now();
    head.aggregate(features);
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

/// Of the first picture that can be read.
PatchFeatures some_features(const Recognizer& recognizer, const Dataset& dataset) {
  for (const auto& picture : dataset.database) {
    try {
      return recognizer.backbone().extract(preprocess(
          load_image(picture, recognizer.preprocessing().load), recognizer.preprocessing()));
    } catch (const std::runtime_error&) {
    }
  }
  throw std::runtime_error(
      fmt::format("none of {} pictures of {} can be read", dataset.database.size(), dataset.name));
}

/// Seconds of every head on the features of one picture, one core: what the solver alone changes.
std::vector<double> heads_seconds(const std::vector<std::string>& methods,
                                  const Dataset& dataset,
                                  const StudyOptions& options) {
  const auto recognizers = make_recognizers(methods, options.method);
  const PatchFeatures features = some_features(*recognizers[0], dataset);
  set_thread_cores(1);
  std::vector<double> seconds;
  for (const auto& recognizer : recognizers) {
    seconds.push_back(head_seconds(recognizer->aggregator(), features));
  }
  set_thread_cores(0);
  return seconds;
}

}  // namespace

StudyResult study_tau_eps(const Dataset& dataset, const StudyOptions& options) {
  StudyResult result;
  std::vector<std::string> methods;
  for (const char* tau : kSteps) {
    for (const char* eps : kSteps) {
      methods.push_back(fmt::format("{}-ria:tau={},eps={}", options.backbone, tau, eps));
    }
  }
  const auto all = evaluate_cells(methods, dataset, options, result.notes);
  if (all[0].queries == 0) throw std::runtime_error(result.notes.back());
  const auto steps = static_cast<int>(std::size(kSteps));
  StudyHeatMap map{
      "R@1 (%) by tau (down) and eps (across)", "tau", "eps", {}, {}, MatrixD(steps, steps)};
  StudyTable table;
  table.title = fmt::format("R@1 on {}", dataset.name);
  for (int i = 0; i < steps; ++i) {
    map.rows.emplace_back(kSteps[i]);
    map.columns.emplace_back(kSteps[i]);
    table.columns.push_back(fmt::format("eps {}", kSteps[i]));
    table.rows.push_back({fmt::format("tau {}", kSteps[i]), {}});
    for (int j = 0; j < steps; ++j) {
      map.values(i, j) = all[i * steps + j].recall.at(1);
      table.rows.back().fields.push_back(number_field(map.values(i, j)));
    }
  }
  for (std::size_t column = 0; column < table.columns.size(); ++column) mark_best(table, column);
  result.tables.push_back(std::move(table));
  result.heat_maps.push_back(std::move(map));
  result.evaluations = all;
  result.notes.push_back(
      "The paper finds recall flat up to tau = 1e-5, a cliff beyond 1e-4, and eps = 1e-4 best.");
  result.notes.push_back(
      "tau and eps act on covariances of patches of length one, projected to d of D channels: the "
      "entries are of the order of 1/D, not 0.1 to 1 as the paper's remark says.");
  append_paper_grids(paper_tau_eps(), dataset, options, result);
  return result;
}

StudyResult study_seeds(const Dataset& dataset, const StudyOptions& options) {
  StudyResult result;
  std::vector<std::string> methods;
  for (const int seed : kSeeds) {
    methods.push_back(fmt::format("{}-ria:seed={}", options.backbone, seed));
  }
  const auto all = evaluate_cells(methods, dataset, options, result.notes);
  if (all[0].queries == 0) throw std::runtime_error(result.notes.back());
  StudyTable table;
  table.title = fmt::format("Seeds on {}", dataset.name);
  table.columns = {"R@1", "R@5"};
  double sum[2] = {}, squares[2] = {};
  for (std::size_t s = 0; s < all.size(); ++s) {
    table.rows.push_back({fmt::format("seed {}", kSeeds[s]), {}});
    for (int c = 0; c < 2; ++c) {
      const double recall = all[s].recall.at(c == 0 ? 1 : 5);
      sum[c] += recall;
      squares[c] += recall * recall;
      table.rows.back().fields.push_back(number_field(recall));
    }
  }
  mark_best(table, 0);
  mark_best(table, 1);
  const auto n = static_cast<double>(all.size());
  StudyTable::Row summary{"mean +- deviation", {}};
  for (int c = 0; c < 2; ++c) {
    const double mean = sum[c] / n;
    const double deviation = std::sqrt(std::max(0.0, squares[c] / n - mean * mean));
    summary.fields.push_back({fmt::format("{:.2f} +- {:.2f}", mean, deviation), {}, false});
  }
  table.rows.push_back(std::move(summary));
  result.tables.push_back(std::move(table));
  result.evaluations = all;
  result.notes.push_back(
      "The paper's means and deviations: 17places 64.04 +- 0.53, Pitts30k 86.01 +- 0.61, Gardens "
      "96.75 +- 0.51, Hawkins 48.81 +- 2.92, Mid-Atlantic 30.40 +- 3.16. How its seeds draw the "
      "matrix is not stated: a seed here is another matrix there.");
  set_beside_paper(paper_seeds(), dataset, options, result);
  return result;
}

StudyResult study_dimension(const Dataset& dataset, const StudyOptions& options) {
  struct Row {
    const char *name, *options;
  };
  constexpr Row kRows[] = {{"d = 32, exact", "d=32,mapping=power"},
                           {"d = 64, exact", "d=64,mapping=power"},
                           {"d = 128, exact", "d=128,mapping=power"},
                           {"d = 64, K = 1", "d=64,iterations=1"},
                           {"d = 64, K = 3 (RIA)", "d=64,iterations=3"},
                           {"d = 64, K = 5", "d=64,iterations=5"},
                           {"d = 128, K = 3", "d=128,iterations=3"},
                           {"d = 32, K = 3", "d=32,iterations=3"}};
  StudyResult result;
  std::vector<std::string> methods;
  for (const Row& row : kRows) {
    methods.push_back(fmt::format("{}-ria:{}", options.backbone, row.options));
  }
  const auto all = evaluate_cells(methods, dataset, options, result.notes);
  if (all[0].queries == 0) throw std::runtime_error(result.notes.back());
  const std::vector<double> seconds = heads_seconds(methods, dataset, options);
  StudyTable table;
  table.title = fmt::format("Dimension and iterations on {}", dataset.name);
  table.columns = {"dim", "R@1", "R@5", "head ms", "speed-up"};
  for (std::size_t m = 0; m < all.size(); ++m) {
    table.rows.push_back({kRows[m].name,
                          {number_field(all[m].dim, "{:.0f}"),
                           number_field(all[m].recall.at(1)),
                           number_field(all[m].recall.at(5)),
                           number_field(1e3 * seconds[m], "{:.2f}"),
                           number_field(seconds[1] / seconds[m], "{:.2f}x")}});
  }
  mark_best(table, 1);
  mark_best(table, 2);
  mark_best(table, 4);
  table.caption =
      "Speed-up of the whole head against d = 64 with the exact root, one core, one picture.";
  result.tables.push_back(std::move(table));
  result.evaluations = all;
  result.notes.push_back(
      "The paper's speed-ups are of its own machine and of describing a picture as a whole or the "
      "head alone, which it does not say; ours are of the head.");
  set_beside_paper(paper_dimension(), dataset, options, result);
  return result;
}

}  // namespace ria
