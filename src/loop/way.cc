// SPDX-License-Identifier: MIT
#include "loop/way.h"

#include <cmath>

namespace ria {

void Way::move_to(const std::optional<Pose>& pose) {
  now_.reset();
  if (!pose) return;
  const auto [x, y, z] = pose->position;
  if (!std::isfinite(x) || !std::isfinite(y)) return;
  const double driven = last_ ? last_->driven + std::hypot(x - last_->x, y - last_->y) : 0;
  now_ = last_ = Point{x, y, driven};
}

void Way::keep(int place) {
  if (now_) kept_[place] = *now_;
}

void Way::restore(int place, const Place& known) {
  if (std::isnan(known.x) || std::isnan(known.y)) return;
  move_to(Pose{{known.x, known.y, 0}});
  keep(place);
  now_.reset();
}

bool Way::may_be_at(int place) const {
  if (!now_) return true;
  const auto found = kept_.find(place);
  if (found == kept_.end()) return true;
  const Point& there = found->second;
  const double apart = std::hypot(now_->x - there.x, now_->y - there.y);
  return apart <= reach_ + drift_ * (now_->driven - there.driven);
}

}  // namespace ria
