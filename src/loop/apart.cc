// SPDX-License-Identifier: MIT
#include "loop/apart.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "rerank/distinction.h"
#include "ria/eigen.h"

namespace ria {

namespace {

constexpr int kPassed = -1;  // the run of what was passed

/// Distinctions of places differ by more than their agreements do, by about so much.
constexpr double kCalmed = 0.7;

/// What is usual beside each run.
class Elsewhere {
 public:
  Elsewhere(const Sighting& sighting, const std::vector<int>& runs) {
    std::map<int, std::vector<const Likeness*>> members;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      members[runs[i]].push_back(&sighting.candidates[i].likeness);
    }
    for (const Candidate& one : sighting.passed) members[kPassed].push_back(&one.likeness);
    for (const auto& [run, likenesses] : members) means_[run] = usual_likeness(likenesses);
    all_.assign(means_.empty() ? 0 : means_.begin()->second.size(), 0.0f);
    for (const auto& [run, mean] : means_) {
      known_ = known_ && !mean.empty() && mean.size() == all_.size();
      if (known_) as_eigen(all_) += as_eigen(mean);
    }
  }
  /// Whether likeness is known cell by cell.
  bool known() const { return known_; }
  std::vector<float> than(int run) const {
    std::vector<float> usual(all_.size(), 0.0f);
    const auto others = static_cast<float>(means_.size() - 1);
    if (others > 0) as_eigen(usual) = (as_eigen(all_) - as_eigen(means_.at(run))) / others;
    return usual;
  }

 private:
  std::map<int, std::vector<float>> means_;
  std::vector<float> all_;  // their sum
  bool known_ = true;
};

Apart as_they_are(const Sighting& sighting) {
  Apart apart;
  for (const Candidate& one : sighting.candidates) apart.candidates.push_back(one.agreement.score);
  for (const Candidate& one : sighting.passed) {
    apart.passed = std::max(apart.passed, one.agreement.score);
  }
  return apart;
}

}  // namespace

Apart set_apart(const Sighting& sighting, const std::vector<int>& runs) {
  const Apart plain = as_they_are(sighting);
  const Elsewhere elsewhere(sighting, runs);
  if (!elsewhere.known() || plain.candidates.empty()) return plain;
  std::map<int, std::vector<float>> usual;
  Apart apart;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto [known, first] = usual.try_emplace(runs[i]);
    if (first) known->second = elsewhere.than(runs[i]);
    apart.candidates.push_back(distinction(sighting.candidates[i].likeness, known->second));
  }
  for (const Candidate& one : sighting.passed) {
    apart.passed = std::max(apart.passed, distinction(one.likeness, elsewhere.than(kPassed)));
  }
  const double unit = distinction_unit(apart.candidates, plain.candidates);
  const double most = unit * *std::ranges::max_element(apart.candidates);
  if (!(most > 0)) return plain;
  const auto calm = [&](double distinct) {
    return most * std::pow(unit * distinct / most, kCalmed);
  };
  for (double& one : apart.candidates) one = calm(one);
  apart.passed = calm(apart.passed);
  return apart;
}

}  // namespace ria
