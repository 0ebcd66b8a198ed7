// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/quality/history.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlq {
namespace {

constexpr std::size_t kSmallestCapacity = 64;

}  // namespace

History::History(std::size_t capacity, bool negate)
    : capacity_(std::max(capacity, kSmallestCapacity)), sign_(negate ? -1.0 : 1.0) {}

bool History::add(double iteration, double loss, double time) {
  if (!(std::abs(iteration) <= kLargestIteration)) return false;
  if (!iterations_.empty() && iterations_.back() >= iteration) {
    const auto keep = std::lower_bound(iterations_.begin(), iterations_.end(), iteration);
    const auto count = static_cast<std::size_t>(keep - iterations_.begin());
    iterations_.resize(count);
    costs_.resize(count);
    recount();
  }
  if (iterations_.size() >= capacity_) thin();
  const bool usable = std::abs(loss) <= kLargestCost;
  const double cost = usable ? sign_ * loss : std::numeric_limits<double>::quiet_NaN();
  iterations_.push_back(iteration);
  costs_.push_back(cost);
  note(cost);
  if (std::isfinite(time)) time_ = time;
  ++version_;
  return true;
}

void History::note(double cost) {
  if (!std::isfinite(cost)) {
    ++trailing_bad_;
    return;
  }
  if (finite_ == 0) {
    first_ = best_ = worst_ = cost;
  } else {
    longest_inner_bad_ = std::max(longest_inner_bad_, trailing_bad_);
    largest_drop_ = std::max(largest_drop_, last_ - cost);
    best_ = std::min(best_, cost);
    worst_ = std::max(worst_, cost);
  }
  trailing_bad_ = 0;
  last_ = cost;
  ++finite_;
}

void History::recount() {
  finite_ = trailing_bad_ = longest_inner_bad_ = 0;
  first_ = last_ = best_ = worst_ = largest_drop_ = 0;
  for (const double cost : costs_) note(cost);
}

// Every other point of the older half goes, so that the newest stay dense and the first stays.
void History::thin() {
  const std::size_t half = iterations_.size() / 2;
  std::size_t out = 1;
  for (std::size_t i = 2; i < iterations_.size(); i += i < half ? 2 : 1) {
    iterations_[out] = iterations_[i];
    costs_[out] = costs_[i];
    ++out;
  }
  iterations_.resize(out);
  costs_.resize(out);
}

}  // namespace mlq
