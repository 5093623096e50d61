// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "ria/loop_truth.h"
#include "util/files.h"

namespace ria {

namespace {

void require_earlier(const LoopTruth& truth, const std::filesystem::path& file) {
  for (std::size_t i = 0; i < truth.loops.size(); ++i) {
    const std::vector<int>& earlier = truth.loops[i];
    if (earlier.empty() || (earlier.front() >= 0 && earlier.back() < static_cast<int>(i))) continue;
    throw std::runtime_error(fmt::format("{}: loops[{}] names {}, an earlier picture was expected",
                                         file.string(),
                                         i,
                                         earlier.front() < 0 ? earlier.front() : earlier.back()));
  }
}

/// One answer of the ranking.
struct Ranked {
  double probability;
  bool right;
};

}  // namespace

LoopTruth load_loop_truth(const std::filesystem::path& file) {
  LoopTruth truth;
  try {
    const auto json = nlohmann::json::parse(read_text(file));
    truth.images = json.at("images").get<std::vector<std::string>>();
    truth.loops = json.at("loops").get<std::vector<std::vector<int>>>();
  } catch (const nlohmann::json::exception&) {
    throw std::runtime_error(fmt::format(
        "{}: a JSON object with the lists images and loops was expected", file.string()));
  }
  if (truth.images.empty() || truth.images.size() != truth.loops.size()) {
    throw std::runtime_error(fmt::format("{}: {} images, {} lists of loops",
                                         file.string(),
                                         truth.images.size(),
                                         truth.loops.size()));
  }
  for (std::vector<int>& earlier : truth.loops) std::sort(earlier.begin(), earlier.end());
  require_earlier(truth, file);
  return truth;
}

void LoopMeasureOptions::validate() const {
  const auto require = [](bool holds, const char* field, auto value, const char* expected) {
    if (!holds)
      throw std::invalid_argument(fmt::format("{} is {}, {} was expected", field, value, expected));
  };
  require(tolerance >= 0, "truth_tolerance", tolerance, "a number of frames from 0 up");
  require(recent >= 0, "recent", recent, "a number of frames from 0 up");
  require(decision >= 0 && decision <= 1, "decision", decision, "a probability");
}

bool is_true_loop(const LoopTruth& truth, int frame, int place, int tolerance) {
  const std::vector<int>& earlier = truth.loops.at(frame);
  const auto near = std::lower_bound(earlier.begin(), earlier.end(), place - tolerance);
  return place >= 0 && near != earlier.end() && *near <= place + tolerance;
}

LoopMeasures measure_loops(const LoopTruth& truth,
                           const std::vector<SaidLoop>& said,
                           const LoopMeasureOptions& options) {
  options.validate();
  LoopMeasures measures;
  for (std::size_t i = 0; i < truth.loops.size(); ++i) {
    const std::vector<int>& earlier = truth.loops[i];
    measures.to_find += !earlier.empty() && earlier.front() < static_cast<int>(i) - options.recent;
  }
  std::vector<Ranked> ranking;
  for (const SaidLoop& one : said) {
    if (one.place < 0) continue;
    const bool right = is_true_loop(truth, one.frame, one.place, options.tolerance);
    ranking.push_back({one.probability, right});
    auto& bin = measures.reliability[std::clamp(static_cast<int>(one.probability * 10), 0, 9)];
    ++bin.count;
    bin.right += right;
    bin.mean_probability += one.probability;
    if (one.probability < options.decision) continue;
    ++measures.said;
    measures.right += right;
  }
  for (ReliabilityBin& bin : measures.reliability) {
    if (bin.count > 0) bin.mean_probability /= bin.count;
  }
  std::stable_sort(ranking.begin(), ranking.end(), [](const Ranked& a, const Ranked& b) {
    return a.probability > b.probability;
  });
  const double all = std::max(1, measures.to_find);
  double answered = 0, right = 0, before = 0;
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    ++answered;
    right += ranking[i].right;
    // Equal probabilities are one step: their order means nothing.
    if (i + 1 < ranking.size() && ranking[i + 1].probability == ranking[i].probability) continue;
    const PrecisionRecallPoint point{ranking[i].probability, right / answered, right / all};
    measures.average_precision += (right - before) / all * point.precision;
    before = right;
    measures.curve.push_back(point);
    if (right == answered) measures.max_recall_at_full_precision = point.recall;
    if (point.precision >= 0.99) measures.recall_at_99_precision = point.recall;
  }
  measures.precision = measures.said > 0 ? static_cast<double>(measures.right) / measures.said : 1;
  measures.recall = measures.right / all;
  return measures;
}

}  // namespace ria
