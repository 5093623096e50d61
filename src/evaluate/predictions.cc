// SPDX-License-Identifier: MIT
#include "evaluate/predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <stdexcept>

#include "image/sheet.h"
#include "ria/predictions.h"
#include "tensor/npy.h"
#include "util/atomic_folder.h"
#include "util/files.h"
#include "util/parallel.h"

namespace ria {

namespace {

namespace fs = std::filesystem;

constexpr int kMostPredictions = 100;  // a JPEG is at most 65,500 pixels wide
constexpr std::array<std::uint8_t, 3> kGreen{0, 255, 0};
constexpr std::array<std::uint8_t, 3> kRed{255, 0, 0};

/// One query, its first answers and which of them are right.
struct Answered {
  fs::path query;
  std::vector<fs::path> answers;
  std::vector<fs::path> positives;
  std::vector<char> right;  // one an answer; empty: not known
};

Answered answered(const Dataset& dataset,
                  const Evaluation& evaluation,
                  const SavePredictionsOptions& options,
                  std::size_t query) {
  Answered one{dataset.queries[query], {}, {}, {}};
  for (const Match& match : evaluation.predictions[query]) {
    if (std::ssize(one.answers) == options.num_preds) break;
    one.answers.push_back(dataset.database[match.place]);
    if (!options.labels) continue;
    const std::vector<int>& positives = dataset.positives[query];
    one.right.push_back(std::binary_search(positives.begin(), positives.end(), match.place));
  }
  if (options.labels) {
    for (const int place : dataset.positives[query]) {
      one.positives.push_back(dataset.database[place]);
    }
  }
  return one;
}

/// A heading and its paths; where there are none, an empty line stands for them.
std::string section(const char* heading, const std::vector<fs::path>& paths) {
  std::string text = heading;
  if (paths.empty()) text += "\n";
  for (const fs::path& path : paths) text += "\n" + path.string();
  return text + "\n";
}

std::string paths_text(const Answered& one, bool labels) {
  std::string text =
      section("Query path:", {one.query}) + "\n" + section("Predictions paths:", one.answers);
  if (labels) text += "\n" + section("Positives paths:", one.positives);
  return text;
}

SheetTile tile_of(const fs::path& file, std::string title) {
  SheetTile tile{{}, std::move(title), {}};
  // A picture that failed is a result of the evaluation; the tile says that it cannot be read.
  try {
    tile.picture = load_image(file);
  } catch (const std::runtime_error&) {
  }
  return tile;
}

Image sheet(const Answered& one) {
  std::vector<SheetTile> tiles{tile_of(one.query, "Query")};
  for (std::size_t i = 0; i < one.answers.size(); ++i) {
    std::string title = fmt::format("Pred{}", i);
    if (!one.right.empty()) title += one.right[i] ? " - True" : " - False";
    tiles.push_back(tile_of(one.answers[i], std::move(title)));
    if (!one.right.empty()) tiles.back().frame = one.right[i] ? kGreen : kRed;
  }
  return picture_row(tiles);
}

/// Positions of the queries that are to be written.
std::vector<std::size_t> chosen_queries(const Dataset& dataset,
                                        const Evaluation& evaluation,
                                        const SavePredictionsOptions& options) {
  std::vector<char> first_right(dataset.queries.size(), 0);
  if (options.only_wrong) first_right = hits_at(evaluation.predictions, dataset.positives, 1);
  std::vector<std::size_t> chosen;
  for (std::size_t q = 0; q < first_right.size(); ++q) {
    if (!first_right[q]) chosen.push_back(q);
  }
  return chosen;
}

}  // namespace

void check_labels(const Dataset& dataset) {
  if (dataset.positives.size() == dataset.queries.size()) return;
  throw std::invalid_argument(fmt::format("dataset {} has {} queries, positives for {}",
                                          dataset.name,
                                          dataset.queries.size(),
                                          dataset.positives.size()));
}

void check_predictions(const Dataset& dataset, const Evaluation& evaluation) {
  if (evaluation.predictions.size() != dataset.queries.size()) {
    throw std::invalid_argument(fmt::format("{} has predictions for {} queries, dataset {} has {}",
                                            evaluation.method,
                                            evaluation.predictions.size(),
                                            dataset.name,
                                            dataset.queries.size()));
  }
  const int places = static_cast<int>(dataset.database.size());
  for (const auto& matches : evaluation.predictions) {
    for (const Match& match : matches) {
      if (match.place >= 0 && match.place < places) continue;
      throw std::invalid_argument(fmt::format("{} predicts place {}, dataset {} has {}",
                                              evaluation.method,
                                              match.place,
                                              dataset.name,
                                              places));
    }
  }
}

void SavePredictionsOptions::validate() const {
  if (num_preds < 1 || num_preds > kMostPredictions) {
    throw std::invalid_argument(
        fmt::format("num_preds is {}, 1 to {} was expected", num_preds, kMostPredictions));
  }
  if (only_wrong && !labels) {
    throw std::invalid_argument("only_wrong needs labels, which say what is wrong");
  }
}

int save_predictions(const fs::path& folder,
                     const Dataset& dataset,
                     const Evaluation& evaluation,
                     const SavePredictionsOptions& options) {
  options.validate();
  check_predictions(dataset, evaluation);
  if (options.labels) check_labels(dataset);
  const std::vector<std::size_t> chosen = chosen_queries(dataset, evaluation, options);
  const int total = static_cast<int>(chosen.size());
  AtomicFolder target(folder / "preds");
  std::mutex mutex;
  int done = 0;
  parallel_for(
      total,
      options.run.num_threads,
      [&](int i) {
        const Answered one = answered(dataset, evaluation, options, chosen[i]);
        const fs::path stem = target.temporary() / fmt::format("{:03}", chosen[i]);
        save_image(fs::path(stem).concat(".jpg"), sheet(one));
        write_text(fs::path(stem).concat(".txt"), paths_text(one, options.labels));
        const std::lock_guard lock(mutex);
        ++done;
        if (options.run.progress) options.run.progress(done, total);
      },
      options.run.stop);
  if (done < total) throw Interrupted(done, total);
  target.commit();
  return total;
}

void save_descriptors(const fs::path& folder, const Evaluation& evaluation) {
  const Matrix& database = evaluation.database_descriptors;
  const Matrix& queries = evaluation.query_descriptors;
  if (database.rows() != evaluation.database || queries.rows() != evaluation.queries) {
    throw std::invalid_argument(
        fmt::format("the evaluation of {} kept no descriptors", evaluation.method));
  }
  write_npy(folder / "database_descriptors.npy", database.data(), database.rows(), database.cols());
  write_npy(folder / "queries_descriptors.npy", queries.data(), queries.rows(), queries.cols());
}

}  // namespace ria
