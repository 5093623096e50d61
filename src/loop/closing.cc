// SPDX-License-Identifier: MIT
#include "loop/closing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include "index/best.h"
#include "loop/guess.h"
#include "util/parallel.h"

namespace ria {

namespace {

constexpr int kReplayed = 20;       // last places of a map that was left off, seen again
constexpr std::size_t kPassed = 3;  // pictures of a while ago that a loop must exceed
constexpr double kStepMemory = 0.8;

void require_kind(const Recognizer& recognizer, const Map& map) {
  const MapHeader made = recognizer.header();
  const MapHeader& there = map.header();
  const auto differ = [&](const char* what, const std::string& a, const std::string& b) {
    if (a == b) return;
    throw std::invalid_argument(fmt::format(
        "the map {} was made with {} {}, not with {}", map.file().string(), what, b, a));
  };
  differ("the method", made.method, there.method);
  differ("the options", made.options, there.options);
  differ("weights", made.weights_sha256, there.weights_sha256);
  if (recognizer.reranker() == nullptr || (map.size() > 0 && !map.has_locals())) {
    throw std::invalid_argument("loops are verified by patches: the method must keep them, as " +
                                made.method + ":rerank=patches does");
  }
}

}  // namespace

Closing::Closing(Recognizer&& with, Map&& places, const LoopOptions& asked)
    : recognizer(std::move(with)),
      map(std::move(places)),
      options(asked),
      way_(asked.odometry_reach, asked.odometry_drift) {
  options.validate();
  require_kind(recognizer, map);
  if (options.keep) go_on();
}

Closing::Window Closing::window(double stamp) {
  if (!options.keep) return {map.end(), map.end()};
  const auto recent = static_cast<std::size_t>(options.recent);
  while (ends_.size() > recent) ends_.pop_front();
  Window window;
  window.before = ends_.size() == recent ? ends_.front() : 0;
  window.passed = ends_.size() > recent / 2
                      ? ends_[ends_.size() - std::max<std::size_t>(1, recent / 2)]
                      : window.before;
  if (options.recent_seconds > 0 && !std::isnan(stamp)) {
    while (!young_.empty() && young_.front().second < stamp - options.recent_seconds) {
      young_.pop_front();
    }
    if (!young_.empty()) window.before = std::min(window.before, young_.front().first);
  }
  window.passed = std::max(window.passed, window.before);
  return window;
}

std::vector<Candidate> Closing::compare(const PackedLocalFeatures& picture,
                                        const std::vector<Match>& places) const {
  const auto count = static_cast<int>(places.size());
  const int threads = std::clamp(resolve_threads(options.num_threads), 1, std::max(1, count));
  std::vector<Candidate> compared(places.size());
  parallel_for(threads, threads, [&](int t) {
    const std::unique_ptr<PreparedQuery> prepared = recognizer.reranker()->prepare(picture);
    for (int i = t; i < count; i += threads) {
      const Agreement agreement = prepared->compare(map.local(places[i].place));
      compared[i] = {places[i].place, places[i].score, agreement, prepared->likeness()};
    }
  });
  return compared;
}

/// Every place of the map. Only what may be among the best is asked for by odometry.
Closing::Alike Closing::compare_all(const Descriptor& descriptor, const Window& window) {
  Alike alike;
  Spread spread;
  const std::vector<Match> scores = map.scores(descriptor);
  const auto first_from = [&](int place) {
    return std::ranges::lower_bound(scores, place, {}, &Match::place);
  };
  const auto may_be_at = [&](const Match& match) {
    if (way_.may_be_at(match.place)) return true;
    forbidden_ = std::max(forbidden_, match.score);
    return false;
  };
  const auto before = first_from(window.before), passed = first_from(window.passed);
  for (auto match = scores.begin(); match != before; ++match) spread.add(match->score);
  const auto best_where = [&](const auto& wanted) {
    Best best(static_cast<std::size_t>(options.candidates));
    for (auto match = scores.begin(); match != before; ++match) {
      if (best.wants(*match) && wanted(*match) && may_be_at(*match)) best.show(*match);
    }
    return std::move(best).sorted();
  };
  alike.answers = with_rivals(best_where, model_.around);
  if (alike.answers.empty()) return alike;
  alike.passed.assign(before, passed);
  keep_most_alike(alike.passed, kPassed);
  for (const int place : filter_.expected_places()) {
    const auto match = first_from(place);
    if (match < before && match->place == place && may_be_at(*match)) {
      alike.expected.push_back(*match);
    }
  }
  alike.mean = spread.mean();
  alike.deviation = spread.deviation();
  return alike;
}

/// The same of a map with a search structure, which need not look at every place.
Closing::Alike Closing::ask_index(const Descriptor& descriptor, const Window& window) {
  Alike alike;
  SearchOptions old;
  old.before = window.before;
  for (const Match& match : map.search(descriptor, 1, old)) {
    if (!way_.may_be_at(match.place)) forbidden_ = match.score;
  }
  const auto best_where = [&](const auto& wanted) {
    old.allowed = [&](int place) { return wanted(Match{place, 0}) && way_.may_be_at(place); };
    return map.search(descriptor, options.candidates, old);
  };
  alike.answers = with_rivals(best_where, model_.around);
  if (window.passed > window.before) {
    std::vector<int> passed;
    for (int place = window.before; place < window.passed; ++place) passed.push_back(place);
    alike.passed = map.scores(descriptor, passed);
    keep_most_alike(alike.passed, kPassed);
  }
  std::vector<int> looked_for = filter_.expected_places();
  std::erase_if(looked_for,
                [&](int place) { return place >= window.before || !way_.may_be_at(place); });
  alike.expected = map.scores(descriptor, looked_for);
  std::tie(alike.mean, alike.deviation) = map.score_spread(descriptor);
  return alike;
}

/// The picture against the places that look most alike, those the filter expects, and what was
/// passed a while ago.
Sighting Closing::look(const DescribedPicture& picture, const Window& window, LoopTime& ms) {
  Stopwatch watch;
  Sighting sighting;
  sighting.step = step_;
  forbidden_ = -2;
  const bool exact = map.search_info().kind == "exact";
  auto [answers, passed, expected, mean, deviation] =
      exact ? compare_all(picture.descriptor, window) : ask_index(picture.descriptor, window);
  ms.search = watch.milliseconds();
  if (answers.empty()) return sighting;
  sighting.cosine_mean = mean;
  sighting.cosine_deviation = deviation;
  for (const Match& match : expected) {
    const bool there = std::any_of(
        answers.begin(), answers.end(), [&](const Match& one) { return one.place == match.place; });
    if (!there) answers.push_back(match);
  }
  const auto old = std::ssize(answers);
  answers.insert(answers.end(), passed.begin(), passed.end());
  sighting.candidates = compare(picture.local, answers);
  sighting.passed.assign(sighting.candidates.begin() + old, sighting.candidates.end());
  sighting.candidates.resize(old);
  ms.verify = watch.milliseconds();
  return sighting;
}

LoopReason Closing::reason(const Sighting& sighting, const Estimate& estimate) const {
  if (estimate.probability >= options.decision && estimate.place >= 0) return LoopReason::kLoop;
  float alike = -2;
  for (const Candidate& one : sighting.candidates) {
    alike = std::max(alike, static_cast<float>(one.cosine));
  }
  if (forbidden_ > alike) return LoopReason::kOdometryForbids;
  if (estimate.place < 0) return LoopReason::kTooRecent;
  if (estimate.candidate < 0) return LoopReason::kPatchesDisagree;
  if (estimate.elsewhere > estimate.probability / 2 && estimate.log_ratio > 0) {
    return LoopReason::kAmbiguous;
  }
  if (estimate.log_ratio > 0) return LoopReason::kSequenceDisagrees;
  return estimate.cosine_deviations < model_.usual_deviations ? LoopReason::kUnlike
                                                              : LoopReason::kPatchesDisagree;
}

LoopResult Closing::judge(const Sighting& sighting, const Estimate& estimate) const {
  LoopResult result;
  result.reason = reason(sighting, estimate);
  result.loop = result.reason == LoopReason::kLoop;
  result.place = estimate.place;
  result.probability = estimate.probability;
  result.evidence.rival = estimate.rival;
  result.evidence.expected = estimate.expected;
  if (estimate.candidate >= 0) {
    const Candidate& best = sighting.candidates[estimate.candidate];
    result.evidence.cosine = best.cosine;
    result.evidence.agreement = best.agreement.score;
    result.down = best.agreement.down;
    result.right = best.agreement.right;
    result.scale = best.agreement.scale;
  }
  return result;
}

/// Whether the picture shows what the last one showed; its agreement with that tells how fast views
/// change.
bool Closing::stands_still(const PackedLocalFeatures& local) {
  if (!last_local_) return false;
  const double agreement = recognizer.reranker()->prepare(local)->compare(*last_local_).score;
  if (options.same_view < 1 && agreement >= options.same_view) return true;
  step_ = step_ > 0 ? kStepMemory * step_ + (1 - kStepMemory) * agreement : agreement;
  return false;
}

void Closing::keep(const DescribedPicture& picture, const LoopFrame& frame, LoopResult& result) {
  Place place;
  place.name = frame.name;
  place.stamp = frame.stamp;
  if (frame.odometry) {
    place.x = frame.odometry->position[0];
    place.y = frame.odometry->position[1];
  }
  const auto dim = static_cast<int>(picture.descriptor.size());
  result.kept_as = map.add(Matrix(1, dim, picture.descriptor), {place}, {picture.local});
  way_.keep(result.kept_as);
  if (options.recent_seconds > 0 && !std::isnan(frame.stamp))
    young_.emplace_back(result.kept_as, frame.stamp);
  const bool sure = result.probability >= model_.link && result.place >= 0;
  if (sure) filter_.link(result.kept_as, result.place);
  if (options.max_places == 0) return;
  redundancy_.add(map, result.kept_as);
  if (sure) redundancy_.show_again(result.place, result.kept_as, result.evidence.cosine);
  while (map.size() > options.max_places) {
    const std::optional<int> least = redundancy_.most(ends_.empty() ? 0 : ends_.front());
    if (!least) break;
    redundancy_.forget(map, *least);
    map.remove({*least});
    way_.forget(*least);
    filter_.forget(*least);
  }
}

LoopResult Closing::add(const DescribedPicture& picture, const LoopFrame& frame) {
  if (frame.odometry || !options.keep) way_.move_to(frame.odometry);
  LoopTime ms;
  Stopwatch watch;
  const Window limits = window(frame.stamp);
  if (stands_still(picture.local)) {
    LoopResult still = last_;
    still.kept_as = -1;
    if (!still.loop) still.reason = LoopReason::kStandingStill;
    still.ms = {};
    still.ms.verify = watch.milliseconds();
    if (options.keep) ends_.push_back(map.end());
    return still;
  }
  const double compared = watch.milliseconds();
  const Sighting sighting = look(picture, limits, ms);
  LoopResult result = judge(sighting, filter_.update(sighting));
  watch.milliseconds();
  if (result.place >= 0) {
    try {
      result.place_name = map.place(result.place).name;
    } catch (const std::invalid_argument&) {  // expected, but forgotten
      result.place = -1;
      result.probability = 0;
      result.loop = false;
      result.reason = LoopReason::kPatchesDisagree;
    }
  }
  if (options.keep) {
    ends_.push_back(map.end());
    keep(picture, frame, result);
  }
  last_local_ = picture.local;
  result.ms = ms;
  result.ms.verify += compared;
  result.ms.keep = watch.milliseconds();
  last_ = result;
  return result;
}

/// Sees the last places of the map again, so that the filter stands where it stood.
void Closing::go_on() {
  std::vector<int> numbers;
  map.each_place([&](int number, const Place& place) {
    numbers.push_back(number);
    way_.restore(number, place);
    if (options.recent_seconds > 0 && !std::isnan(place.stamp))
      young_.emplace_back(number, place.stamp);
  });
  if (options.max_places > 0) redundancy_.restore(map);
  const std::size_t first =
      numbers.size() > static_cast<std::size_t>(kReplayed) ? numbers.size() - kReplayed : 0;
  const auto recent = static_cast<std::size_t>(options.recent);
  ends_.assign(numbers.begin() + static_cast<std::ptrdiff_t>(first > recent ? first - recent : 0),
               numbers.begin() + static_cast<std::ptrdiff_t>(first));
  for (std::size_t i = first; i < numbers.size(); ++i) {
    const Matrix row = map.descriptors({numbers[i]});
    const DescribedPicture picture{{row.values().begin(), row.values().end()},
                                   map.local(numbers[i])};
    const Place place = map.place(numbers[i]);
    const Window limits = window(place.stamp);
    stands_still(picture.local);
    LoopTime ms;
    const Sighting sighting = look(picture, limits, ms);
    last_ = judge(sighting, filter_.update(sighting));
    if (last_.probability >= model_.link && last_.place >= 0) filter_.link(numbers[i], last_.place);
    last_local_ = picture.local;
    ends_.push_back(numbers[i]);
  }
}

}  // namespace ria
