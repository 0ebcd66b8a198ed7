// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/allocation/pending_size.hpp"

#include <algorithm>
#include <cmath>

namespace mlq {

namespace {

class AtOnce final : public Objective {
 public:
  AtOnce(std::span<const PendingJob> jobs, const PendingValue& value) : jobs_(jobs), value_(&value) {}
  double value(std::size_t job, double units) const override {
    return value_->gain(job, static_cast<std::uint32_t>(std::lround(units)), jobs_[job].horizon);
  }

 private:
  std::span<const PendingJob> jobs_;
  const PendingValue* value_;
};

std::vector<std::uint32_t> shares(std::span<const PendingJob> jobs, std::uint32_t idle,
                                  const PendingValue& value) {
  std::vector<UnitRequest> requests(jobs.size());
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    UnitRequest& request = requests[j];
    request.key = jobs[j].key;
    request.rank = jobs[j].rank;
    request.unit = std::max(jobs[j].unit, 1U);
    request.min = std::max(jobs[j].min, 1U);
    request.max = std::min(jobs[j].max, jobs[j].room);
    request.concave = false;
    if (request.max < request.min) request.pools = 0;  // cannot start now
  }
  const Pool pool{idle, 1};
  Allocation allocation;
  Allocator().run({&pool, 1}, requests, AtOnce(jobs, value), {}, allocation);
  return allocation.units;
}

class Sizes {
 public:
  Sizes(std::size_t index, const PendingJob& job, std::uint32_t share, const PendingValue& value,
        const PendingOptions& options)
      : index_(index), job_(job), share_(share), value_(value), options_(options) {}

  SizeChoice choose() const {
    const std::uint32_t asked = std::clamp(job_.asked, job_.min, job_.max);
    SizeChoice choice{asked, share_, asked == job_.asked ? SizeReason::kept : SizeReason::bounds};
    if (share_ < job_.min) {
      if (choice.reason == SizeReason::kept) choice.reason = SizeReason::no_room;
      return choice;
    }
    const std::vector<std::uint32_t> sizes = candidates(asked);
    double best = 0;
    for (const std::uint32_t units : sizes) best = std::max(best, worth(units));
    const double margin = 1 + options_.margin;
    if (best <= worth(asked) * margin && (asked <= share_ || !job_.grows)) {
      if (asked > share_) choice.reason = SizeReason::waits;
      return choice;
    }
    const auto good_enough = [&](std::uint32_t units) { return worth(units) >= best * (1 - options_.flat); };
    choice.units = *std::find_if(sizes.begin(), sizes.end(), good_enough);
    if (choice.units > asked)
      choice.reason = SizeReason::share;
    else if (choice.units < asked)
      choice.reason = asked > share_ ? SizeReason::sooner : SizeReason::fewer;
    return choice;
  }

 private:
  double worth(std::uint32_t units) const {
    double wait = 0;
    if (units > share_) wait = job_.grows ? job_.horizon : std::max(job_.waited, options_.shortest_wait);
    return wait < job_.horizon ? value_.gain(index_, units, job_.horizon - wait) : 0;
  }

  // Ascending: what it asks for, and sizes that start now, of a long range some evenly apart.
  std::vector<std::uint32_t> candidates(std::uint32_t asked) const {
    constexpr std::uint32_t most = 64;
    const std::uint32_t top = std::min(share_, job_.max);
    std::vector<std::uint32_t> sizes;
    sizes.reserve(most + 3);
    const std::uint32_t step = std::max((top - job_.min) / most, 1U);
    for (std::uint64_t units = job_.min; units <= top && sizes.size() < most; units += step)
      sizes.push_back(static_cast<std::uint32_t>(units));
    sizes.push_back(asked);
    sizes.push_back(top);
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
  }

  std::size_t index_;
  const PendingJob& job_;
  std::uint32_t share_;
  const PendingValue& value_;
  const PendingOptions& options_;
};

}  // namespace

std::vector<SizeChoice> size_pending(std::span<const PendingJob> jobs, std::uint32_t idle,
                                     const PendingValue& value, const PendingOptions& options) {
  const std::vector<std::uint32_t> share = shares(jobs, idle, value);
  std::vector<SizeChoice> choices(jobs.size());
  for (std::size_t j = 0; j < jobs.size(); ++j)
    choices[j] = Sizes(j, jobs[j], share[j], value, options).choose();
  return choices;
}

}  // namespace mlq
