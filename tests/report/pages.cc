// SPDX-License-Identifier: MIT
// Writes pages for the test in a browser: report_pages FOLDER writes FOLDER/report/,
// FOLDER/study/ and FOLDER/training/ of made-up results, and every study as it is measured on
// rendered pictures in a folder of its name.
#include <fmt/format.h>

#include <cmath>
#include <exception>
#include <random>

#include "ria/image.h"
#include "ria/report.h"
#include "ria/simulate.h"
#include "support/cache_in.h"
#include "util/parallel.h"

namespace ria {
namespace {

namespace fs = std::filesystem;

constexpr int kPlaces = 48;

/// Pictures along a bent street; query i shows place i.
Dataset made_up_dataset(const fs::path& folder) {
  fs::create_directories(folder);
  Dataset dataset;
  dataset.name =
      "streets/a_bent_street_by_rain_against_the_same_street_by_day";  // names do not wrap
  dataset.remarks = {"made up: <no> picture was taken & none is missing"};
  for (int i = 0; i < kPlaces; ++i) {
    dataset.database.push_back(folder / fmt::format("@0500000.25@5400{:03}.07@place.jpg", i));
    dataset.queries.push_back(folder / fmt::format("query {}.jpg", i));
    dataset.positives.push_back({i});
    const double turn = 0.09 * i, radius = 200 + 2.0 * i;
    dataset.database_positions.push_back({{radius * std::cos(turn), radius * std::sin(turn)}});
    dataset.query_positions.push_back(
        {{radius * std::cos(turn) + 2, radius * std::sin(turn) + 1.5}});
  }
  dataset.positives[kPlaces - 1].clear();
  parallel_for(kPlaces, 0, [&](int i) {
    const CameraPose pose{1.75, 10.0 * i, 1.6, 0};
    save_image(dataset.database[i], render_street(pose, Condition::kDay, 120, 160, 7));
    save_image(dataset.queries[i], render_street(pose, Condition::kRain, 120, 160, 7));
  });
  return dataset;
}

/// A method that finds about this share of the places first.
Evaluation made_up(
    const Dataset& dataset, const std::string& method, double share, int dim, std::uint32_t seed) {
  Evaluation e;
  e.method = method;
  e.dataset = dataset.name;
  e.queries = e.database = kPlaces;
  e.dim = dim;
  e.seed = seed;
  e.options = R"({"preprocessing": {"longest_side": 640}, "ria": {"d": 64, "tau": 1e-05}})";
  e.weights_sha256 = "9b5d1c0e7a2f4438b0c6d5e4f3a29187665544332211ffeeddccbbaa00998877";
  e.seconds = {{"decode", 0.4}, {"backbone", 30.5}, {"aggregate", 0.02 * dim / 64.0}};
  e.seconds["search"] = 0.004;
  e.seconds["wall"] = 17.25;
  e.open_set_threshold = 0.72;
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(0, 1);
  for (int query = 0; query < kPlaces; ++query) {
    const bool right = uniform(random) < share;
    const int rank = right ? 0 : 1 + static_cast<int>(25 * uniform(random));
    std::vector<Match> matches;
    float score = (right ? 0.95f : 0.8f) - 0.1f * uniform(random);
    for (int i = 0; i < 20; ++i, score -= 0.02f * uniform(random)) {
      const int other = (query + 1 + static_cast<int>(uniform(random) * (kPlaces - 1))) % kPlaces;
      matches.push_back({i == rank ? query : other, score});
    }
    e.predictions.push_back(std::move(matches));
  }
  judge(dataset, {1, 5, 10, 20}, e);
  return e;
}

std::vector<Evaluation> made_up_methods(const Dataset& dataset) {
  std::vector<Evaluation> all = {
      made_up(dataset, "resnet50-ria", 0.9, 2080, 1),
      made_up(dataset, "resnet50-ria:mapping=log_euclidean,center=true", 0.8, 2080, 2),
      made_up(dataset, "resnet50-gem", 0.4, 1024, 3),
      made_up(dataset, "rootsift-vlad", 0.2, 4096, 4)};
  all[2].seconds["local"] = 1.5;
  all[3].weights_sha256.clear();
  all[3].failures = {{3, "street/query <3>.jpg", "not a JPEG & cut short"}};
  return all;
}

StudyTable made_up_table(const std::vector<Evaluation>& all) {
  StudyTable table;
  table.title = "Statistical order on a bent street";
  table.columns = {"dim", "R@1", "95 %", "R@5", "R@10", "ms/picture", "paper R@1 (its backbone)"};
  for (const Evaluation& e : all) {
    table.rows.push_back({e.method,
                          {{std::to_string(e.dim), e.dim, false},
                           {fmt::format("{:.1f}", e.recall.at(1)), e.recall.at(1), false},
                           {"70.1-88.2", {}, false},
                           {fmt::format("{:.1f}", e.recall.at(5)), e.recall.at(5), false},
                           {fmt::format("{:.1f}", e.recall.at(10)), e.recall.at(10), false},
                           {"321.5", 321.5, false},
                           {"Pitts30k 86.7, Nardo-Air 76.1, Gardens 97.5", {}, false}}});
  }
  for (const std::size_t column : {1, 3, 4}) table.rows[0].fields[column].best = true;
  table.caption = "ms/picture: network and head, one core.";
  return table;
}

StudyPlot made_up_plot(const std::vector<Evaluation>& all) {
  StudyPlot plot{"Rotation", "degrees", "1 - cosine", {}};
  double slope = 0.004;
  for (const Evaluation& e : all) {
    StudyPlot::Series line{e.method, {}, {}, {}, {}};
    for (const double degrees : {0.0, 5.0, 10.0, 20.0, 30.0, 45.0}) {
      line.x.push_back(degrees);
      line.y.push_back(slope * degrees);
      line.low.push_back(0.8 * slope * degrees);
      line.high.push_back(1.2 * slope * degrees);
    }
    slope *= 1.5;
    plot.series.push_back(std::move(line));
  }
  return plot;
}

StudyResult made_up_study(const Dataset& dataset) {
  StudyResult result;
  result.study = "geometry";
  result.title = "Statistical order and manifold geometry (table 4)";
  result.dataset = dataset.name;
  result.command = "ria study geometry --dataset pitts30k --data_folder data --report out/";
  result.evaluations = made_up_methods(dataset);
  result.notes = {"Set and backbone are not the paper's unless they are named so.",
                  "The paper gives RIA on Nardo-Air as 76.1 here, 84.5 in table 6."};
  result.tables = {made_up_table(result.evaluations), made_up_table(result.evaluations)};
  result.plots = {made_up_plot(result.evaluations)};
  const std::vector<std::string> steps = {"0", "1e-7", "1e-6", "1e-5", "1e-4", "1e-3"};
  MatrixD values(6, 6);
  for (int i = 0; i < 36; ++i) values(i / 6, i % 6) = 40 + 45 * std::sin(0.12 * i);
  result.heat_maps = {
      {"R@1 (%) by tau (down) and eps (across)", "tau", "eps", steps, steps, values}};
  return result;
}

/// A run in its fourth epoch of five.
TrainResult made_up_training(const Dataset& dataset) {
  TrainResult result;
  result.planned_steps = 500;
  result.config =
      R"({"ria_version": "0", "options": {"backbone": "resnet50", "lr": 6e-05}, "set": {"train_set": "<street> & more"}})";
  TrainLogRow before;
  before.recall_at_1 = 41.7;
  before.recall_at_5 = 60.4;
  result.log.push_back(before);
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(-0.05, 0.05);
  for (int step = 1; step <= 400; ++step) {
    TrainLogRow row;
    row.step = step;
    row.epoch = 1 + (step - 1) / 100;
    row.loss = 0.2 + std::exp(-0.01 * step) + uniform(random);
    row.lr = 6e-5 * (1 - 0.8 * step / 500);
    row.head_lr = 10 * row.lr;
    row.pictures_per_second = 35 + 20 * uniform(random);
    row.positive_pairs = 300;
    row.negative_pairs = 2000 - 4 * step;
    if (step % 100 == 0) {
      row.recall_at_1 = 50 + 0.1 * step - (step == 400 ? 12 : 0);
      row.recall_at_5 = *row.recall_at_1 + 9;
    }
    result.log.push_back(row);
  }
  result.steps = 400;
  result.best_recall_at_1 = 80;
  for (int i = 0; i < 6; ++i) {
    result.hardest.push_back({dataset.database[i], dataset.database[i + 7], false, 0.9 - 0.01 * i});
  }
  for (int i = 0; i < 6; ++i) {
    result.hardest.push_back({dataset.database[i], dataset.queries[i], true, 0.2 + 0.01 * i});
  }
  result.hardest.push_back({dataset.database[9], "no/such <picture>.jpg", true, 0.5});
  return result;
}

/// Every study with the backbone that needs no weights.
void write_measured_studies(const fs::path& folder, const Dataset& dataset) {
  StudyOptions options;
  options.backbone = "rootsift";
  options.pictures = 6;
  options.method.longest_side = 160;
  options.evaluate.run.feature_cache = folder / "features";
  for (const StudyInfo& info : studies()) {
    write_study_report(folder / info.name, run_study(info.name, dataset, options), dataset);
  }
}

}  // namespace
}  // namespace ria

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: report_pages FOLDER\n");
    return 2;
  }
  try {
    const std::filesystem::path folder = argv[1];
    const ria::Dataset dataset = ria::made_up_dataset(folder / "pictures");
    ria::ReportOptions options;
    options.title = "ria eval: a bent street, rain against day";
    options.command =
        "ria eval --method resnet50-ria --method "
        "resnet50-ria:mapping=log_euclidean,center=true --report out/";
    ria::write_report(folder / "report", dataset, ria::made_up_methods(dataset), options);
    ria::write_study_report(folder / "study", ria::made_up_study(dataset), dataset);
    options.title = "runs/street: RIA-FT on resnet50";
    options.command =
        "ria train --train_folder street/database --backbone resnet50 --out runs/street";
    std::filesystem::create_directories(folder / "training");
    ria::write_training_page(
        folder / "training" / "index.html", ria::made_up_training(dataset), options);
    const ria::CacheIn no_weights(folder / "cache");
    ria::write_measured_studies(folder, dataset);
  } catch (const std::exception& error) {
    fmt::print(stderr, "report_pages: {}\n", error.what());
    return 1;
  }
  return 0;
}
