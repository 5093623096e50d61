// SPDX-License-Identifier: MIT
// Answers: the nearest descriptors, looked at again where the method re-ranks.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "pipeline/over_pictures.h"
#include "ria/recognizer.h"

namespace ria {

namespace {

using Answers = std::vector<std::vector<Match>>;

/// The first `depth` answers in their new order; the rest stays behind them.
std::vector<Match> rerank(const Reranker& reranker,
                          const PackedLocalFeatures& query,
                          const Map& map,
                          const std::vector<Match>& matches,
                          int depth,
                          std::unordered_map<int, double>& known) {
  const auto split = matches.begin() + std::min<std::ptrdiff_t>(depth, std::ssize(matches));
  const std::vector<Match> first(matches.begin(), split);
  const std::unique_ptr<PreparedQuery> prepared = reranker.prepare(query);
  std::vector<double> scores;
  for (const Match& match : first) {
    const auto [score, unseen] = known.try_emplace(match.place, 0.0);
    if (unseen) score->second = prepared->compare(map.local(match.place)).score;
    scores.push_back(score->second);
  }
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
  over_pictures(
      count,
      run.num_threads,
      [&](int q) {
        answers[q] = rerank(*reranker(), queries.locals[q], map, answers[q], depth, scores[q]);
        if (std::ssize(answers[q]) > k) answers[q].resize(k);
      },
      run.stop);
  if (run.stop.stop_requested()) throw Interrupted(0, count);
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
