// SPDX-License-Identifier: MIT
// Where the camera is among the places of the map, picture by picture: a Bayes filter.
//
// Its states are the places and "nowhere in the map". From picture to picture a camera goes on
// along the places as it did before (forwards or backwards, at its own speed), leaves them, or
// comes to any of them. What a picture says of a place is a likelihood ratio. So the probability
// rises within a picture or two where a loop begins and falls at once where it ends: nothing is
// summed over time.
#pragma once

#include <map>
#include <vector>

#include "loop/apart.h"
#include "loop/sighting.h"

namespace ria {

/// The constants of the filter, the same for every method, camera and place. They are on the
/// careful side: on drives of many kinds nearly all that is said is right, and some of it is said
/// late.
struct FilterModel {
  // The logarithm of the likelihood ratio of a place is a sum of
  double base = 0.7;            ///< this,
  double margin_weight = 3.5;   ///< log(agreement / rival), both apart, at most largest_margin, and
  double largest_margin = 3.0;  ///<
  double step_weight = 0.5;     ///< log(agreement / that of successive pictures).
  double least_ratio = -4.0;    ///< It is at least this.
  double least_rival = 0.0145;  ///< agreement that unlike pictures reach by chance
  double usual_step = 0.13;     ///< agreement of successive pictures where there are none yet

  double begin = 0.003;     ///< probability to come to a certain one of the candidates
  double lost = 0.02;       ///< the same for the first picture of all
  double end = 0.05;        ///< probability to leave the places from one picture to the next
  double unseen = 0.5;      ///< likelihood ratio of an expected place that was not compared
  double spread = 2.0;      ///< places by which a new track may move in a step
  double steady = 1.2;      ///< places by which a step of a longer track may differ from its speed
  double standstill = 2.0;  ///< a track that stands while the camera moves loses exp(-standstill)
  int around = 12;          ///< places so near each other are no rivals
  int near = 2;             ///< places so near each other are one answer
  double link = 0.9;        ///< probability from which on two places are known to be one
  /// Deviations by which the cosine of a place that was seen before exceeds the mean of all: less
  /// is a reason for no loop, and nothing else.
  double usual_deviations = 3.0;
};

/// What the filter makes of a sighting.
struct Estimate {
  int candidate = -1;      ///< which of the sighting's; -1: the place was expected, not compared
  int place = -1;          ///< -1: there was nothing to compare
  double probability = 0;  ///< that the picture shows it
  double expected = 0;     ///< the same before the picture was seen
  double rival = 0;        ///< largest with a place elsewhere, or with what was passed, set apart
  double cosine_deviations = 0;
  double log_ratio = 0;  ///< of the likelihoods
  double elsewhere = 0;  ///< probability of all other places
};

class PlaceFilter {
 public:
  explicit PlaceFilter(const FilterModel& model = {}) : model_(model) {}

  /// Places to compare the next picture with even if others look more alike.
  std::vector<int> expected_places() const;
  Estimate update(const Sighting& sighting);
  /// The place `later` was found to show the same as `earlier`.
  void link(int later, int earlier) { links_[later] = earlier; }
  /// Nothing is known any more of a place that was forgotten.
  void forget(int place);

 private:
  /// Where the camera may be, and where it came from.
  struct Track {
    int place = -1;
    double probability = 0;
    std::vector<int> path;  // the last places, this one at the end
    double speed() const;
    int next() const;
  };
  struct Expected {
    std::vector<double> prior;  // per candidate
    std::vector<int> from;      // the track that leads to it, or -1
  };
  struct Weighed {
    Expected expected;
    Apart apart;
    std::vector<double> rivals, ratios, shares;  // per candidate
  };

  Expected expect(const std::vector<Candidate>& candidates) const;
  bool same_place(int a, int b) const;
  bool linked(int from, int to) const;
  std::vector<int> runs_of(const std::vector<Candidate>& candidates) const;
  bool same_run(int a, int b) const;
  double rival_of(const Sighting& sighting, const Apart& apart, int place) const;
  std::vector<double> rivals_of(const Sighting& sighting,
                                const Apart& apart,
                                std::size_t best) const;
  double log_ratio(const Sighting& sighting, const Candidate& one, double margin) const;
  Weighed weigh(const Sighting& sighting) const;
  std::vector<Track> unseen(const std::vector<Candidate>& candidates) const;
  std::size_t best_near(const std::vector<Candidate>& candidates, std::size_t probable) const;
  Estimate answer(const Sighting& sighting, const Weighed& weighed, double all) const;
  void go_on(std::vector<Track> tracks);
  Track follow(int from, int place, double probability) const;

  FilterModel model_;
  std::vector<Track> tracks_;
  std::map<int, int> links_;
  bool started_ = false;
};

}  // namespace ria
