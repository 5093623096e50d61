// SPDX-License-Identifier: MIT
#include "train/validation.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ria/eigen.h"
#include "ria/evaluate.h"

namespace ria {

namespace {

constexpr int kTogether = 8;  // pictures of one size that the engine takes at once

/// Pictures of one size wait until there are enough.
class Embedder {
 public:
  Embedder(TrainEngine& engine, int rows, int dim) : engine_(engine), out_(rows, dim) {}

  void add(int row, TrainBatch picture) {
    Waiting& waiting = waiting_[{picture.height, picture.width}];
    waiting.rows.push_back(row);
    TrainBatch& batch = waiting.batch;
    if (batch.count == 0) {
      batch = std::move(picture);
    } else {
      batch.count += picture.count;
      batch.values.insert(batch.values.end(), picture.values.begin(), picture.values.end());
    }
    if (batch.count >= kTogether) embed(waiting);
  }
  Matrix finish() {
    for (auto& [size, waiting] : waiting_) {
      if (waiting.batch.count > 0) embed(waiting);
    }
    return std::move(out_);
  }

 private:
  struct Waiting {
    std::vector<int> rows;
    TrainBatch batch;
  };

  void embed(Waiting& waiting) {
    const Matrix made = engine_.embed(waiting.batch);
    for (std::size_t i = 0; i < waiting.rows.size(); ++i) {
      const auto row = made.row(static_cast<int>(i));
      std::copy(row.begin(), row.end(), out_.row(waiting.rows[i]).begin());
    }
    waiting = {};
  }

  TrainEngine& engine_;
  std::map<std::pair<int, int>, Waiting> waiting_;
  Matrix out_;
};

/// Rows `first` to before `end` that are not zero, as those of pictures that cannot be read are.
std::vector<int> described(const Matrix& all, int first, int end) {
  std::vector<int> rows;
  for (int i = first; i < end; ++i) {
    const auto row = all.row(i);
    if (std::any_of(row.begin(), row.end(), [](float value) { return value != 0; })) {
      rows.push_back(i);
    }
  }
  return rows;
}

Matrix rows_of(const Matrix& all, const std::vector<int>& rows) {
  return to_matrix(as_eigen(all)(rows, Eigen::all));
}

}  // namespace

ModelRecall validate_model(TrainEngine& engine,
                           const TrainWorkers& workers,
                           int dim,
                           const Dataset& dataset,
                           TrainInputs& inputs,
                           const std::function<void(int, int)>& between) {
  const int database = static_cast<int>(dataset.database.size());
  const int count = database + static_cast<int>(dataset.queries.size());
  const auto bound = [&](int rank) {
    return static_cast<int>(std::int64_t{count} * rank / workers.count);
  };
  const int first = bound(workers.rank), end = bound(workers.rank + 1);
  Embedder embedder(engine, end - first, dim);
  // The ranks meet between parts of equal length, so that none waits long for another.
  const int longest = (count + workers.count - 1) / workers.count;
  for (int part = 0; part < longest; part += kTogether) {
    for (int i = first + part; i < std::min(end, first + part + kTogether); ++i) {
      TrainBatch picture = inputs.evaluation(i);
      if (picture.count > 0) embedder.add(i - first, std::move(picture));
    }
    between(std::min(part + kTogether, longest), longest);
  }
  const Matrix own = embedder.finish();
  const Matrix all = workers.count > 1 ? engine.gather(own) : own;
  Map map(MapHeader{"", "", "", "", all.cols()});
  const std::vector<int> places = described(all, 0, database);
  const std::vector<int> queries = described(all, database, count);
  std::vector<std::vector<Match>> predictions(dataset.queries.size());
  if (!places.empty() && !queries.empty()) {
    map.add(rows_of(all, places), std::vector<Place>(places.size()));
    const auto found = map.search(rows_of(all, queries), 5);
    for (std::size_t q = 0; q < queries.size(); ++q) {
      for (const Match& match : found[q]) {
        predictions[queries[q] - database].push_back({places[match.place], match.score});
      }
    }
  }
  const auto recall = recall_at(predictions, dataset.positives, {1, 5});
  return {recall.at(1), recall.at(5)};
}

}  // namespace ria
