// SPDX-License-Identifier: MIT
#include "ria/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "ria/version.h"
#include "util/json.h"

namespace ria {

namespace {

using nlohmann::json;

bool hit(const std::vector<Match>& predictions, const std::vector<int>& positives, int k) {
  const auto end = predictions.begin() + std::min<std::ptrdiff_t>(k, std::ssize(predictions));
  return std::any_of(predictions.begin(), end, [&](const Match& match) {
    return std::binary_search(positives.begin(), positives.end(), match.place);
  });
}

/// Search of the described queries among the described places. A picture that failed is neither
/// found nor finds anything; it keeps its place in the numbering and its share of the denominator.
std::vector<std::vector<Match>> search_all(const Descriptions& all,
                                           int database,
                                           const IndexHeader& header,
                                           int k) {
  std::vector<char> bad(all.names.size(), 0);
  for (const Failure& failure : all.failures) bad[failure.picture] = 1;
  std::vector<int> places, queries;
  for (int i = 0; i < static_cast<int>(bad.size()); ++i) {
    if (!bad[i]) (i < database ? places : queries).push_back(i);
  }
  if (places.empty()) {
    throw std::runtime_error("none of the database pictures could be described; the first: " +
                             all.failures.front().reason);
  }
  Index index(header);
  std::vector<std::string> names;
  for (const int i : places) names.push_back(all.names[i]);
  index.add(all.descriptors(places, Eigen::all), names);
  const auto found = index.search(Matrix(all.descriptors(queries, Eigen::all)), k);
  std::vector<std::vector<Match>> predictions(bad.size() - database);
  for (std::size_t q = 0; q < queries.size(); ++q) {
    for (const Match& match : found[q]) {
      predictions[queries[q] - database].push_back({places[match.place], match.score});
    }
  }
  return predictions;
}

json evaluation_json(const Evaluation& e) {
  json recall = json::object();
  for (const auto& [k, percent] : e.recall) recall[std::to_string(k)] = percent;
  json failures = json::array();
  for (const Failure& failure : e.failures)
    failures.push_back({{"file", failure.file}, {"reason", failure.reason}});
  return {{"method", e.method},
          {"dataset", e.dataset},
          {"queries", e.queries},
          {"database", e.database},
          {"dim", e.dim},
          {"recall", recall},
          {"seconds", e.seconds},
          {"options", json::parse(e.options)},
          {"seed", e.seed},
          {"weights_sha256", e.weights_sha256},
          {"failures", failures},
          {"ria_version", RIA_VERSION}};
}

}  // namespace

std::map<int, double> recall_at(const std::vector<std::vector<Match>>& predictions,
                                const std::vector<std::vector<int>>& positives,
                                const std::vector<int>& ks) {
  std::map<int, double> recall;
  for (const int k : ks) {
    int hits = 0;
    for (std::size_t q = 0; q < predictions.size(); ++q)
      hits += hit(predictions[q], positives.at(q), k);
    recall[k] = predictions.empty() ? 0.0 : 100.0 * hits / static_cast<double>(predictions.size());
  }
  return recall;
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
  for (const auto& recognizer : recognizers) {
    recognizer->fit(dataset.database, options.run);
    views.push_back(recognizer.get());
  }
  std::vector<std::filesystem::path> pictures = dataset.database;
  pictures.insert(pictures.end(), dataset.queries.begin(), dataset.queries.end());
  const std::vector<Descriptions> described = describe_together(views, pictures, options.run);

  int depth = options.num_predictions;
  for (const int k : options.recall_values) depth = std::max(depth, k);
  std::vector<Evaluation> evaluations;
  for (std::size_t m = 0; m < methods.size(); ++m) {
    const auto start = std::chrono::steady_clock::now();
    const IndexHeader header = recognizers[m]->header();
    Evaluation e;
    e.predictions =
        search_all(described[m], static_cast<int>(dataset.database.size()), header, depth);
    const std::chrono::duration<double> search = std::chrono::steady_clock::now() - start;
    const StageSeconds& spent = described[m].seconds;
    e.seconds = {{"decode", spent.decode},
                 {"backbone", spent.backbone},
                 {"aggregate", spent.aggregate},
                 {"search", search.count()},
                 {"wall", spent.wall + search.count()}};
    e.method = methods[m];
    e.dataset = dataset.name;
    e.queries = static_cast<int>(dataset.queries.size());
    e.database = static_cast<int>(dataset.database.size());
    e.dim = header.dim;
    e.recall = recall_at(e.predictions, dataset.positives, options.recall_values);
    e.options = header.options;
    e.weights_sha256 = header.weights_sha256;
    e.seed = method_options.ria.seed;
    e.failures = described[m].failures;
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
