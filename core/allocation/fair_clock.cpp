// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/allocation/fair_clock.hpp"

#include <algorithm>
#include <cmath>

#include "core/allocation/policy.hpp"

namespace mlq {

namespace {

constexpr double remembered = 50, enough = 5;  // jobs that left

double since(double earlier, double now) {
  const double seconds = now - earlier;
  return std::isfinite(seconds) ? std::max(seconds, 0.0) : 0;
}

double most_cores(const UnitRequest& request) {
  return static_cast<double>(request.max) * request.unit;
}

}  // namespace

// The mean moves by all that left since the last decision at once, so that it depends on no order.
void FairClock::drop_the_gone(double now) {
  double sum = 0, count = 0;
  std::erase_if(jobs_, [&](const auto& job) {
    if (job.second.seen >= now) return false;
    sum += since(job.second.arrival, now);
    ++count;
    return true;
  });
  if (count == 0) return;
  gone_ = std::min(gone_ + count, remembered);
  stay_of_the_gone_ += (sum / count - stay_of_the_gone_) * std::min(count / gone_, 1.0);
}

void FairClock::advance(const ClusterView& view) {
  if (view.now < now_) *this = FairClock();
  now_ = view.now;
  double capacity = 0, age = 0;
  for (const Pool& pool : view.pools) capacity += pool.capacity;
  const double share = capacity / std::max<double>(1, static_cast<double>(view.jobs.size()));
  const double before = count_ > 0 ? share_ : share;  // it held until now
  const bool moved = count_ != view.jobs.size();
  service_.clear();
  service_.reserve(view.jobs.size());
  for (const JobView& job : view.jobs) {
    const auto [at, fresh] = jobs_.try_emplace(job.request.key);
    Entry& entry = at->second;
    if (fresh) entry = {0, now_ - since(job.arrival, now_), now_ - since(job.arrival, now_), 0};
    entry.service += std::min(fresh ? share : before, most_cores(job.request)) *
                     since(std::max(entry.seen, entry.paused_until), now_);
    entry.seen = now_;
    if (moved && std::isfinite(job.held.move_cost)) entry.paused_until = now_ + job.held.move_cost;
    service_.push_back(entry.service);
    age += since(job.arrival, now_);
  }
  if (jobs_.size() > view.jobs.size()) drop_the_gone(now_);
  share_ = share;
  count_ = view.jobs.size();
  const double there = count_ > 0 ? age / static_cast<double>(count_) : 0;
  stay_ = std::max(gone_ >= enough ? stay_of_the_gone_ : there, 1.0);
}

}  // namespace mlq
