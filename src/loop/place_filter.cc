// SPDX-License-Identifier: MIT
#include "loop/place_filter.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace ria {

namespace {

constexpr std::size_t kPath = 5;      // places a track remembers
constexpr std::size_t kSteady = 3;    // from so many on it has a speed
constexpr std::size_t kTracks = 40;   // followed at once
constexpr std::size_t kExpected = 3;  // of them so many are looked for
constexpr double kLeast = 1e-6;       // probability below which a track is dropped
constexpr std::size_t kRivals = 1;    // so many may agree as well
constexpr double kFastest = 4;        // places a picture

/// Share of a step of `distance` places: falls by 1/e every `width`, and sums to 1 over all places.
double step_share(double distance, double width) {
  const double fall = std::exp(-1 / width);
  return (1 - fall) / (1 + fall) * std::pow(fall, std::abs(distance));
}

double deviations(const Sighting& sighting, double cosine) {
  return (cosine - sighting.cosine_mean) / std::max(sighting.cosine_deviation, 0.01);
}

double log_of(double agreement) { return std::log(std::max(agreement, 1e-4)); }

std::size_t largest(const std::vector<double>& values) {
  return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

}  // namespace

double PlaceFilter::Track::speed() const {
  if (path.size() < 2) return 0;
  const double moved = path.back() - path.front();
  return std::clamp(moved / static_cast<double>(path.size() - 1), -kFastest, kFastest);
}

int PlaceFilter::Track::next() const { return place + static_cast<int>(std::lround(speed())); }

std::vector<int> PlaceFilter::expected_places() const {
  std::vector<int> places;
  for (std::size_t i = 0; i < std::min(kExpected, tracks_.size()); ++i) {
    for (const int aside : {0, -1, 1}) places.push_back(tracks_[i].next() + aside);
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

PlaceFilter::Expected PlaceFilter::expect(const std::vector<Candidate>& candidates) const {
  Expected expected;
  expected.prior.assign(candidates.size(), started_ ? model_.begin : model_.lost);
  expected.from.assign(candidates.size(), -1);
  std::vector<double> most(candidates.size(), 0);
  for (std::size_t t = 0; t < tracks_.size(); ++t) {
    const Track& track = tracks_[t];
    const bool steady = track.path.size() >= kSteady;
    const double speed = steady ? track.speed() : 0;
    double stays = (1 - model_.end) * track.probability;
    if (track.path.size() >= kPath) {
      stays *= std::exp(-model_.standstill * std::max(0.0, 1 - std::abs(speed) / 0.5));
    }
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const double distance = candidates[i].place - (track.place + speed);
      const double share = stays * step_share(distance, steady ? model_.steady : model_.spread);
      expected.prior[i] += share;
      if (share <= most[i]) continue;
      most[i] = share;
      expected.from[i] = static_cast<int>(t);
    }
  }
  return expected;
}

/// Whether a place near `from` was found to show one near `to`.
bool PlaceFilter::linked(int from, int to) const {
  for (auto it = links_.lower_bound(from - model_.around);
       it != links_.end() && it->first <= from + model_.around;
       ++it) {
    if (std::abs(it->second - to) <= model_.around) return true;
  }
  return false;
}

bool PlaceFilter::same_place(int a, int b) const { return linked(a, b) || linked(b, a); }

bool PlaceFilter::same_run(int a, int b) const {
  return std::abs(a - b) <= model_.around || same_place(a, b);
}

/// Candidates that lie around each other or show the same have one number.
std::vector<int> PlaceFilter::runs_of(const std::vector<Candidate>& candidates) const {
  std::vector<int> runs;
  for (const Candidate& one : candidates) {
    const int own = static_cast<int>(runs.size());
    runs.push_back(own);
    for (int i = 0; i < own; ++i) {
      if (!same_run(candidates[i].place, one.place)) continue;
      const int from = runs.back(), to = runs[i];
      std::ranges::replace(runs, from, to);
    }
  }
  return runs;
}

/// How well places agree that are others than this candidate: the second of them. One that agrees
/// as well as it does shares the probability with it instead.
double PlaceFilter::rival_of(const Sighting& sighting, const Apart& apart, int place) const {
  std::vector<double> others;
  for (std::size_t i = 0; i < sighting.candidates.size(); ++i) {
    if (!same_run(sighting.candidates[i].place, place)) others.push_back(apart.candidates[i]);
  }
  std::sort(others.rbegin(), others.rend());
  return others.size() > kRivals ? others[kRivals] : 0;
}

/// The rivals of all candidates, what was passed among them. Those around the best have its rivals,
/// and no other has lesser ones: a place that agrees less than the best must not seem surer because
/// most of what looks alike happens to lie around it.
std::vector<double> PlaceFilter::rivals_of(const Sighting& sighting,
                                           const Apart& apart,
                                           std::size_t best) const {
  std::vector<double> rivals;
  const int place = sighting.candidates[best].place;
  const double least =
      std::max({rival_of(sighting, apart, place), apart.passed, model_.least_rival});
  for (const Candidate& one : sighting.candidates) {
    const bool near = std::abs(one.place - place) <= model_.around;
    rivals.push_back(near ? least : std::max(least, rival_of(sighting, apart, one.place)));
  }
  return rivals;
}

/// What a picture says of a place. It may be hidden by a bus or lie behind a bare wall: that it
/// does not look like itself says only so much.
double PlaceFilter::log_ratio(const Sighting& sighting, const Candidate& one, double margin) const {
  const double step = sighting.step > 0 ? std::max(sighting.step, 0.03) : model_.usual_step;
  const double ratio = model_.base +
                       model_.margin_weight * std::min(margin, model_.largest_margin) +
                       model_.step_weight * (log_of(one.agreement.score) - std::log(step));
  const double telling = std::min(1.0, step / model_.usual_step);
  return std::max(ratio, model_.least_ratio * telling);
}

PlaceFilter::Track PlaceFilter::follow(int from, int place, double probability) const {
  Track track{place, probability, {}};
  if (from >= 0) track.path = tracks_[from].path;
  track.path.push_back(place);
  if (track.path.size() > kPath) track.path.erase(track.path.begin());
  return track;
}

/// The shares of all candidates, and what they come from.
PlaceFilter::Weighed PlaceFilter::weigh(const Sighting& sighting) const {
  const std::vector<Candidate>& candidates = sighting.candidates;
  Weighed weighed{expect(candidates), set_apart(sighting, runs_of(candidates)), {}, {}, {}};
  const std::vector<double>& apart = weighed.apart.candidates;
  std::vector<double> alike;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    alike.push_back(model_.margin_weight * log_of(apart[i]) +
                    model_.step_weight * log_of(candidates[i].agreement.score) +
                    std::log(weighed.expected.prior[i]));
  }
  if (candidates.empty()) return weighed;
  weighed.rivals = rivals_of(sighting, weighed.apart, largest(alike));
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const double margin = log_of(apart[i]) - std::log(weighed.rivals[i]);
    weighed.ratios.push_back(log_ratio(sighting, candidates[i], margin));
    weighed.shares.push_back(weighed.expected.prior[i] * std::exp(weighed.ratios[i]));
  }
  return weighed;
}

/// Expected places that nothing near was compared with: their tracks go on by themselves.
std::vector<PlaceFilter::Track> PlaceFilter::unseen(
    const std::vector<Candidate>& candidates) const {
  std::vector<Track> tracks;
  for (std::size_t t = 0; t < tracks_.size(); ++t) {
    const int place = tracks_[t].next();
    const bool compared = std::any_of(candidates.begin(), candidates.end(), [&](const auto& one) {
      return std::abs(one.place - place) <= 1;
    });
    if (compared) continue;
    const double share = (1 - model_.end) * tracks_[t].probability * model_.unseen;
    tracks.push_back(follow(static_cast<int>(t), place, share));
  }
  return tracks;
}

/// The candidate near a place that agrees best: which stretch of the places it is follows from all
/// that is known, which of its pictures from this one.
std::size_t PlaceFilter::best_near(const std::vector<Candidate>& candidates,
                                   std::size_t probable) const {
  std::size_t best = probable;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const bool near = std::abs(candidates[i].place - candidates[probable].place) <= model_.near;
    if (near && candidates[i].agreement.score > candidates[best].agreement.score) best = i;
  }
  return best;
}

/// The best candidate, with all that is near it or known to be the same place.
Estimate PlaceFilter::answer(const Sighting& sighting, const Weighed& weighed, double all) const {
  const std::vector<Candidate>& candidates = sighting.candidates;
  const std::size_t probable = largest(weighed.shares), best = best_near(candidates, probable);
  const int around = candidates[probable].place;
  Estimate estimate;
  estimate.candidate = static_cast<int>(best);
  estimate.place = candidates[best].place;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const double probability = weighed.shares[i] / all;
    const bool near = std::abs(candidates[i].place - around) <= model_.near;
    if (near) estimate.expected += weighed.expected.prior[i];
    if (near || same_place(candidates[i].place, around)) {
      estimate.probability += probability;
    } else {
      estimate.elsewhere += probability;
    }
  }
  estimate.expected = std::min(estimate.expected, 1.0);
  estimate.rival = weighed.rivals[best];
  estimate.cosine_deviations = deviations(sighting, candidates[best].cosine);
  estimate.log_ratio = weighed.ratios[best];
  return estimate;
}

void PlaceFilter::go_on(std::vector<Track> tracks) {
  std::erase_if(tracks, [](const Track& track) { return track.probability < kLeast; });
  std::stable_sort(tracks.begin(), tracks.end(), [](const Track& a, const Track& b) {
    return a.probability > b.probability;
  });
  if (tracks.size() > kTracks) tracks.resize(kTracks);
  tracks_ = std::move(tracks);
}

Estimate PlaceFilter::update(const Sighting& sighting) {
  const std::vector<Candidate>& candidates = sighting.candidates;
  const Weighed weighed = weigh(sighting);
  started_ = true;
  if (candidates.empty()) return {};
  std::vector<Track> tracks = unseen(candidates);
  double somewhere = 0, all = 0;
  for (const Track& track : tracks_) somewhere += (1 - model_.end) * track.probability;
  for (const Track& track : tracks) all += track.probability;
  for (const double share : weighed.shares) all += share;
  all += 1 - std::min(0.999, somewhere);  // nowhere in the map

  Estimate estimate = answer(sighting, weighed, all);
  double most = *std::ranges::max_element(weighed.shares);
  for (const Track& track : tracks) {
    if (track.probability <= most) continue;
    most = track.probability;
    estimate.candidate = -1;
    estimate.place = track.place;
    estimate.probability = track.probability / all;
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    tracks.push_back(follow(weighed.expected.from[i], candidates[i].place, weighed.shares[i]));
  }
  for (Track& track : tracks) track.probability /= all;
  go_on(std::move(tracks));
  return estimate;
}

void PlaceFilter::forget(int place) { links_.erase(place); }

}  // namespace ria
