// SPDX-License-Identifier: MIT
// Answers: the nearest descriptors, looked at again where the method re-ranks.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "ria/recognizer.h"
#include "util/parallel.h"

namespace ria {

namespace {

using Answers = std::vector<std::vector<Match>>;

/// The first `depth` answers in their new order; the rest stays behind them.
std::vector<Match> rerank(const Reranker& reranker,
                          const PackedLocalFeatures& query,
                          const Index& index,
                          const std::vector<Match>& matches,
                          int depth) {
  const auto split = matches.begin() + std::min<std::ptrdiff_t>(depth, std::ssize(matches));
  const std::vector<Match> first(matches.begin(), split);
  const LocalFeatures local = unpack(query);
  std::vector<double> scores;
  for (const Match& match : first) {
    scores.push_back(reranker.score(local, unpack(index.locals()[match.place])));
  }
  std::vector<Match> ordered = reranker.reorder(first, scores);
  ordered.insert(ordered.end(), split, matches.end());
  return ordered;
}

}  // namespace

std::vector<std::vector<Match>> Recognizer::search(const Index& index,
                                                   const Descriptions& queries,
                                                   int k,
                                                   const RunOptions& run,
                                                   double* rerank_seconds) const {
  const int depth = options_.rerank_depth;
  Answers answers = index.search(queries.descriptors, reranker_ ? std::max(k, depth) : k);
  if (rerank_seconds != nullptr) *rerank_seconds = 0;
  if (!reranker_) return answers;
  const auto count = static_cast<int>(answers.size());
  if (index.locals().size() != static_cast<std::size_t>(index.size()) ||
      queries.locals.size() != answers.size()) {
    throw std::invalid_argument(
        "re-ranking needs local features: the index or the queries have none");
  }
  const auto start = std::chrono::steady_clock::now();
  const int threads = resolve_threads(run.num_threads), workers = count < threads ? 1 : threads;
  if (workers == 1) set_thread_cores(threads);
  parallel_for(
      count,
      workers,
      [&](int q) {
        answers[q] = rerank(*reranker_, queries.locals[q], index, answers[q], depth);
        if (std::ssize(answers[q]) > k) answers[q].resize(k);
      },
      run.stop);
  if (workers == 1) set_thread_cores(0);
  if (run.stop.stop_requested()) throw Interrupted(0, count);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  if (rerank_seconds != nullptr) *rerank_seconds = spent.count();
  return answers;
}

}  // namespace ria
