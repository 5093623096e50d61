// SPDX-License-Identifier: MIT
// How often the right place is among the first K answers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ria/api.h"
#include "ria/dataset.h"
#include "ria/map.h"
#include "ria/recognizer.h"
#include "ria/statistics.h"

namespace ria {

/// Percent of all queries with a positive among their first K predictions.
RIA_API std::map<int, double> recall_at(const std::vector<std::vector<Match>>& predictions,
                                        const std::vector<std::vector<int>>& positives,
                                        const std::vector<int>& ks);

/// What is answered if only what is probable enough is.
struct OpenSet {
  double decision = 0;  ///< probability from which on there is an answer; 0: nothing is known
  int answers = 0;
  int right = 0;
  double precision = 0;  ///< of the answers
  double recall = 0;     ///< right ones as a share of the queries that have a positive
};

/// What one method answers on one dataset, and how good that is.
struct RIA_API Evaluation {
  std::string method;
  std::string dataset;
  int queries = 0;
  int database = 0;
  int dim = 0;
  std::int64_t local_bytes = 0;      ///< kept of a place for re-ranking, on average; 0: nothing
  std::map<int, double> recall;      ///< K -> percent; empty: the positives are not known
  std::map<int, Interval> interval;  ///< K -> where it lies with 95 % confidence
  PrecisionRecall precision_recall;  ///< of the best answers
  double open_set_threshold = 0;     ///< cosine that unknown places hardly reach
  /// Per query the place it shows and the probability of that in place of a score, see
  /// guess_place(); -1 for a picture that failed, empty unless patches were compared.
  std::vector<Match> guesses;
  OpenSet open_set;  ///< of the guesses, at the default decision of LoopOptions
  std::map<std::string, double>
      seconds;          ///< decode, backbone, aggregate, search, wall (local); search
                        ///< holds re-ranking, less pairs compared for a method before
  std::string options;  ///< JSON
  std::string weights_sha256;
  std::uint32_t seed = 42;
  std::vector<std::vector<Match>> predictions;  ///< per query, best first
  /// A row a picture in the dataset's order, zeros for one that failed; empty unless asked for.
  Matrix database_descriptors, query_descriptors;
  std::vector<Failure> failures;

  /// "R@1: 98.8, R@5: 99.7, R@10: 99.9, R@20: 100.0"
  std::string line() const;
};

/// What is measured and kept by evaluate().
struct EvaluateOptions {
  std::vector<int> recall_values = {1, 5, 10, 20};
  int num_predictions = 20;  ///< kept for each query; at least the largest recall value is searched
  bool keep_descriptors = false;  ///< fill Evaluation::database_descriptors and query_descriptors
  RunOptions run;
};

/// Fills in what follows from the predictions: recall, intervals, precision and recall. Nothing
/// where the dataset's positives are not known.
RIA_API void judge(const Dataset& dataset,
                   const std::vector<int>& recall_values,
                   Evaluation& evaluation);

/// Evaluates several methods on one dataset, sharing features where the backbone is the same.
RIA_API std::vector<Evaluation> evaluate(const Dataset& dataset,
                                         const std::vector<std::string>& methods,
                                         const MethodOptions& method_options = {},
                                         const EvaluateOptions& options = {});

/// [{"method", "dataset", "queries", "database", "dim", "recall": {..}, "interval": {..},
/// "seconds":
/// {..}, "options": {..}, ..}]
RIA_API std::string to_json(const std::vector<Evaluation>& evaluations);

}  // namespace ria
