// SPDX-License-Identifier: MIT
#include "ria/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "ria/eigen.h"
#include "ria/loop.h"
#include "ria/version.h"
#include "util/json.h"
#include "util/parallel.h"

namespace ria {

namespace {

using nlohmann::json;

/// Rows of some pictures of many.
Descriptions choose(const Descriptions& all, const std::vector<int>& pictures) {
  Descriptions chosen;
  chosen.descriptors = to_matrix(as_eigen(all.descriptors)(pictures, Eigen::all));
  for (const int i : pictures) {
    chosen.names.push_back(all.names[i]);
    chosen.image_sizes.push_back(all.image_sizes[i]);
    if (!all.locals.empty()) chosen.locals.push_back(all.locals[i]);
  }
  return chosen;
}

/// Positions of the described pictures among all: places first, then queries.
struct Split {
  std::vector<int> places, queries;
};

Split split_good(const Descriptions& all, int database) {
  std::vector<char> bad(all.names.size(), 0);
  for (const Failure& failure : all.failures) bad[failure.picture] = 1;
  Split split;
  for (int i = 0; i < static_cast<int>(bad.size()); ++i) {
    if (!bad[i]) (i < database ? split.places : split.queries).push_back(i);
  }
  if (split.places.empty()) {
    throw std::runtime_error("none of the database pictures could be described; the first: " +
                             all.failures.front().reason);
  }
  return split;
}

/// Of a picture, on average.
std::int64_t local_bytes(const Descriptions& all) {
  std::size_t bytes = 0;
  for (const PackedLocalFeatures& local : all.locals) bytes += local.bytes.size();
  return static_cast<std::int64_t>(bytes / std::max<std::size_t>(1, all.locals.size()));
}

/// What each query says by itself; patches of the first answers have been compared.
void guess_all(const Recognizer& recognizer,
               const Map& map,
               const Descriptions& queries,
               const Split& split,
               const PairScores& agreements,
               const RunOptions& run,
               Evaluation& e) {
  if (recognizer.options().rerank != "patches") return;
  e.guesses.resize(static_cast<std::size_t>(e.queries));
  const auto guess = [&](int q) {
    const auto row = queries.descriptors.row(q);
    const Match found = guess_place(map.scores(Descriptor(row.begin(), row.end())), agreements[q]);
    if (found.place < 0) return;
    e.guesses[split.queries[q] - e.database] = {split.places[found.place], found.score};
  };
  parallel_for(queries.descriptors.rows(), resolve_threads(run.num_threads), guess, run.stop);
}

/// Search of the described queries among the described places. A picture that failed is neither
/// found nor finds anything; it keeps its place in the numbering and its share of the denominator.
void search_all(const Recognizer& recognizer,
                const Descriptions& all,
                const EvaluateOptions& options,
                std::map<std::string, PairScores>& compared,
                Evaluation& e) {
  int depth = options.num_predictions;
  for (const int k : options.recall_values) depth = std::max(depth, k);
  const Split split = split_good(all, e.database);
  const Descriptions places = choose(all, split.places);
  e.local_bytes = local_bytes(places);
  const Map map = recognizer.map(places);
  const Descriptions queries = choose(all, split.queries);
  const auto seconds = [start = std::chrono::steady_clock::now()] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const auto found =
      recognizer.search(map, queries, depth, options.run, &compared[recognizer.local_key()]);
  e.predictions.resize(static_cast<std::size_t>(e.queries));
  for (std::size_t q = 0; q < found.size(); ++q) {
    for (const Match& match : found[q]) {
      e.predictions[split.queries[q] - e.database].push_back(
          {split.places[match.place], match.score});
    }
  }
  e.seconds["search"] = seconds();
  e.seconds["wall"] = all.seconds.wall + seconds();
  guess_all(recognizer, map, queries, split, compared[recognizer.local_key()], options.run, e);
  const auto scores = sample_scores(queries.descriptors, places.descriptors);
  if (!scores.empty()) e.open_set_threshold = open_set_threshold(scores);
}

json evaluation_json(const Evaluation& e) {
  json recall = json::object();
  for (const auto& [k, percent] : e.recall) recall[std::to_string(k)] = percent;
  json interval = json::object();
  for (const auto& [k, bounds] : e.interval) {
    interval[std::to_string(k)] = {bounds.low, bounds.high};
  }
  json failures = json::array();
  for (const Failure& failure : e.failures)
    failures.push_back({{"file", failure.file}, {"reason", failure.reason}});
  json all = {{"method", e.method},
              {"dataset", e.dataset},
              {"queries", e.queries},
              {"database", e.database},
              {"dim", e.dim},
              {"recall", recall},
              {"interval", interval},
              {"open_set_threshold", e.open_set_threshold},
              {"bytes", e.dim * sizeof(float)},
              {"local_bytes", e.local_bytes},
              {"seconds", e.seconds},
              {"options", json::parse(e.options)},
              {"seed", e.seed},
              {"weights_sha256", e.weights_sha256},
              {"failures", failures},
              {"ria_version", RIA_VERSION}};
  if (e.open_set.decision > 0) {
    all["open_set"] = {{"decision", e.open_set.decision},
                       {"answers", e.open_set.answers},
                       {"right", e.open_set.right},
                       {"precision", e.open_set.precision},
                       {"recall", e.open_set.recall}};
  }
  if (!e.recall.empty()) {
    all["average_precision"] = e.precision_recall.average_precision;
    all["recall_at_full_precision"] = e.precision_recall.recall_at_full_precision;
  }
  return all;
}

}  // namespace

std::map<int, double> recall_at(const std::vector<std::vector<Match>>& predictions,
                                const std::vector<std::vector<int>>& positives,
                                const std::vector<int>& ks) {
  std::map<int, double> recall;
  for (const int k : ks) {
    const std::vector<char> hits = hits_at(predictions, positives, k);
    const auto count = std::count(hits.begin(), hits.end(), 1);
    recall[k] = hits.empty() ? 0.0 : 100.0 * static_cast<double>(count) / std::ssize(hits);
  }
  return recall;
}

namespace {

OpenSet judge_guesses(const std::vector<Match>& guesses,
                      const std::vector<std::vector<int>>& positives) {
  OpenSet all{LoopOptions().decision};
  int known = 0;
  for (std::size_t q = 0; q < guesses.size(); ++q) {
    known += positives[q].empty() ? 0 : 1;
    if (guesses[q].place < 0 || guesses[q].score < all.decision) continue;
    ++all.answers;
    all.right += std::ranges::binary_search(positives[q], guesses[q].place) ? 1 : 0;
  }
  all.precision = all.answers > 0 ? static_cast<double>(all.right) / all.answers : 1;
  all.recall = known > 0 ? static_cast<double>(all.right) / known : 0;
  return all;
}

}  // namespace

void judge(const Dataset& dataset, const std::vector<int>& recall_values, Evaluation& e) {
  if (dataset.positives.empty()) return;
  e.recall = recall_at(e.predictions, dataset.positives, recall_values);
  for (const int k : recall_values) {
    e.interval[k] = bootstrap_interval(hits_at(e.predictions, dataset.positives, k));
  }
  e.precision_recall = precision_recall(e.predictions, dataset.positives);
  if (!e.guesses.empty()) e.open_set = judge_guesses(e.guesses, dataset.positives);
}

std::string Evaluation::line() const {
  std::string text;
  for (const auto& [k, percent] : recall)
    text += fmt::format("{}R@{}: {:.1f}", text.empty() ? "" : ", ", k, percent);
  return text;
}

std::vector<Evaluation> evaluate(const Dataset& dataset,
                                 const std::vector<std::string>& methods,
                                 const MethodOptions& method_options,
                                 const EvaluateOptions& options) {
  const auto recognizers = make_recognizers(methods, method_options);
  std::vector<const Recognizer*> views;
  fit_together(recognizers, dataset.database, options.run);
  for (const auto& recognizer : recognizers) views.push_back(recognizer.get());
  std::vector<std::filesystem::path> pictures = dataset.database;
  pictures.insert(pictures.end(), dataset.queries.begin(), dataset.queries.end());
  RunOptions run = options.run;
  run.split = static_cast<int>(dataset.database.size());
  std::vector<Descriptions> described = describe_together(views, pictures, run);

  std::map<std::string, PairScores> compared;  // by what is kept of a picture
  std::vector<Evaluation> evaluations;
  for (std::size_t m = 0; m < methods.size(); ++m) {
    Evaluation e;
    e.method = methods[m];
    e.dataset = dataset.name;
    e.queries = static_cast<int>(dataset.queries.size());
    e.database = static_cast<int>(dataset.database.size());
    recognizers[m]->finish(described[m], e.database);
    const MapHeader header = recognizers[m]->header();
    e.dim = header.dim;
    e.options = header.options;
    e.weights_sha256 = header.weights_sha256;
    e.seed = recognizers[m]->options().ria.seed;
    e.failures = described[m].failures;
    const StageSeconds& spent = described[m].seconds;
    e.seconds = {
        {"decode", spent.decode}, {"backbone", spent.backbone}, {"aggregate", spent.aggregate}};
    if (recognizers[m]->reranker() != nullptr) e.seconds["local"] = spent.local;
    search_all(*recognizers[m], described[m], options, compared, e);
    judge(dataset, options.recall_values, e);
    if (options.keep_descriptors) {
      const auto all = as_eigen(described[m].descriptors);
      e.database_descriptors = to_matrix(all.topRows(e.database));
      e.query_descriptors = to_matrix(all.bottomRows(e.queries));
    }
    evaluations.push_back(std::move(e));
  }
  return evaluations;
}

std::string to_json(const std::vector<Evaluation>& evaluations) {
  json list = json::array();
  for (const Evaluation& evaluation : evaluations) list.push_back(evaluation_json(evaluation));
  return json_text(list, 2) + "\n";
}

}  // namespace ria
