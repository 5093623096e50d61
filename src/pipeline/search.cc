// SPDX-License-Identifier: MIT
// Answers: the nearest descriptors, looked at again where the method re-ranks.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "ria/recognizer.h"
#include "util/parallel.h"

namespace ria {

namespace {

using Answers = std::vector<std::vector<Match>>;

/// Scores of every `step`-th of the matches from `first` on; what is known is not compared again.
void score_some(const Reranker& reranker,
                const PackedLocalFeatures& query,
                const Map& map,
                const std::vector<Match>& matches,
                const std::unordered_map<int, double>& known,
                std::size_t first,
                std::size_t step,
                std::vector<double>& scores) {
  const std::unique_ptr<PreparedQuery> prepared = reranker.prepare(query);
  for (std::size_t i = first; i < scores.size(); i += step) {
    const auto found = known.find(matches[i].place);
    scores[i] =
        found != known.end() ? found->second : prepared->compare(map.local(matches[i].place)).score;
  }
}

/// The answers that have a score in their new order; the rest stays behind them.
std::vector<Match> reordered(const Reranker& reranker,
                             const std::vector<Match>& matches,
                             const std::vector<double>& scores,
                             std::unordered_map<int, double>& known) {
  const auto split = matches.begin() + std::ssize(scores);
  const std::vector<Match> first(matches.begin(), split);
  for (std::size_t i = 0; i < scores.size(); ++i) known[first[i].place] = scores[i];
  std::vector<Match> ordered = reranker.reorder(first, scores);
  ordered.insert(ordered.end(), split, matches.end());
  return ordered;
}

}  // namespace

std::vector<std::vector<Match>> Recognizer::search(const Map& map,
                                                   const Descriptions& queries,
                                                   int k,
                                                   const RunOptions& run,
                                                   PairScores* known) const {
  const int depth = options().rerank_depth;
  Answers answers = map.search(queries.descriptors, reranker() ? std::max(k, depth) : k);
  if (!reranker()) return answers;
  const auto count = static_cast<int>(answers.size());
  if ((map.size() > 0 && !map.has_locals()) || queries.locals.size() != answers.size()) {
    throw std::invalid_argument(
        "re-ranking needs local features: the map or the queries have none");
  }
  PairScores own;
  PairScores& scores = known != nullptr ? *known : own;
  scores.resize(answers.size());
  // Where there are fewer queries than threads, several threads share the places of each.
  const int threads = resolve_threads(run.num_threads),
            parts = std::max(1, threads / std::max(1, count));
  std::vector<std::vector<double>> found(answers.size());
  for (int q = 0; q < count; ++q) found[q].resize(std::min<std::size_t>(depth, answers[q].size()));
  const auto score_part = [&](int i) {
    const int q = i / parts;
    score_some(
        *reranker(), queries.locals[q], map, answers[q], scores[q], i % parts, parts, found[q]);
  };
  parallel_for(count * parts, threads, score_part, run.stop);
  if (run.stop.stop_requested()) throw Interrupted(0, count);
  for (int q = 0; q < count; ++q) {
    answers[q] = reordered(*reranker(), answers[q], found[q], scores[q]);
    if (std::ssize(answers[q]) > k) answers[q].resize(k);
  }
  return answers;
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
