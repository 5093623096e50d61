// SPDX-License-Identifier: MIT
// Answers: the nearest descriptors, looked at again where the method re-ranks.
#include "pipeline/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "util/parallel.h"

namespace ria {

namespace {

using Answers = std::vector<std::vector<Match>>;

/// What comparing the first answers of a query with it said.
struct Compared {
  std::vector<double> scores;
  std::vector<Likeness> likenesses;
  std::atomic<int> parts_left;
};

/// Every `step`-th of the matches from `first` on.
void compare_some(const Reranker& reranker,
                  const PackedLocalFeatures& query,
                  const Map& map,
                  const std::vector<Match>& matches,
                  std::size_t first,
                  std::size_t step,
                  Compared& compared) {
  const std::unique_ptr<PreparedQuery> prepared = reranker.prepare(query);
  for (std::size_t i = first; i < compared.scores.size(); i += step) {
    compared.scores[i] = prepared->compare(map.local(matches[i].place)).score;
    compared.likenesses[i] = prepared->likeness();
  }
}

/// The answers that were compared in their new order; the rest stays behind them.
std::vector<Match> reordered(const Reranker& reranker,
                             const std::vector<Match>& matches,
                             const Compared& compared,
                             std::unordered_map<int, double>& scores) {
  const auto split = matches.begin() + std::ssize(compared.scores);
  const std::vector<Match> first(matches.begin(), split);
  for (std::size_t i = 0; i < first.size(); ++i) scores[first[i].place] = compared.scores[i];
  std::vector<Match> ordered = reranker.reorder(first, compared.scores, compared.likenesses);
  ordered.insert(ordered.end(), split, matches.end());
  return ordered;
}

}  // namespace

Answers search_among(const Recognizer& recognizer,
                     const Map& map,
                     const Descriptions& queries,
                     int k,
                     const SearchOptions& among,
                     const RunOptions& run,
                     PairScores* compared) {
  const int depth = recognizer.options().rerank_depth;
  const Reranker* reranker = recognizer.reranker();
  Answers answers = map.search(queries.descriptors, reranker ? std::max(k, depth) : k, among);
  if (!reranker) return answers;
  const auto count = static_cast<int>(answers.size());
  if ((map.size() > 0 && !map.has_locals()) || queries.locals.size() != answers.size()) {
    throw std::invalid_argument(
        "re-ranking needs local features: the map or the queries have none");
  }
  PairScores own;
  PairScores& scores = compared != nullptr ? *compared : own;
  scores.resize(answers.size());
  // Where there are fewer queries than threads, several threads share the places of each.
  const int threads = resolve_threads(run.num_threads),
            parts = std::max(1, threads / std::max(1, count));
  std::vector<Compared> found(answers.size());
  for (int q = 0; q < count; ++q) {
    const std::size_t places = std::min<std::size_t>(depth, answers[q].size());
    found[q].scores.resize(places);
    found[q].likenesses.resize(places);
    found[q].parts_left = parts;
  }
  // Likenesses are large: they are forgotten as soon as the last part of a query is compared.
  const auto compare_part = [&](int i) {
    const int q = i / parts;
    compare_some(*reranker, queries.locals[q], map, answers[q], i % parts, parts, found[q]);
    if (--found[q].parts_left > 0) return;
    answers[q] = reordered(*reranker, answers[q], found[q], scores[q]);
    if (std::ssize(answers[q]) > k) answers[q].resize(k);
    found[q].likenesses = {};
  };
  parallel_for(count * parts, threads, compare_part, run.stop);
  if (run.stop.stop_requested()) throw Interrupted(0, count);
  return answers;
}

Answers Recognizer::search(const Map& map,
                           const Descriptions& queries,
                           int k,
                           const RunOptions& run,
                           PairScores* compared) const {
  return search_among(*this, map, queries, k, {}, run, compared);
}

std::string Recognizer::local_key() const {
  if (!reranker()) return "";
  const PatchRerankOptions& o = options().patches;
  return fmt::format("{} {} {} {} {}",
                     feature_key(),
                     options().rerank,
                     o.rerank_d,
                     o.rerank_seed,
                     o.rerank_tolerance);
}

}  // namespace ria
