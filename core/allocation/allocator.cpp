// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/allocation/allocator.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/allocation/concave_hull.hpp"

namespace mlq {

namespace {

constexpr std::size_t hull_samples = 64;  // of a value that is not concave; more sizes than that are thinned

bool sensible(const UnitRequest& job, std::size_t pools) {
  const std::uint64_t known = pools >= max_pools ? ~0ULL : (1ULL << pools) - 1;
  return (job.pools & known) != 0 && job.unit > 0 && job.min > 0 && job.max >= job.min;
}

double finite(double value) {
  return std::isfinite(value) ? value : 0;
}

}  // namespace

bool Allocator::before(const Entry& a, const Entry& b) {
  // Order of a max-heap: true when a is worth less.
  if (a.density != b.density) return a.density < b.density;
  if (a.units != b.units) return a.units > b.units;
  return a.order > b.order;
}

double Allocator::speed(const UnitRequest& job, std::size_t pool) const {
  const double speed = pool < job.speeds.size() ? job.speeds[pool] : pools_[pool].speed;
  return std::isfinite(speed) && speed > 0 ? speed : 0;
}

std::uint32_t Allocator::available(std::size_t job) const {
  const UnitRequest& request = jobs_[job];
  std::uint64_t units = 0;
  for (std::size_t p = 0; p < left_.size(); ++p)
    if (request.pools >> p & 1) units += left_[p] / request.unit;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(units, std::numeric_limits<std::uint32_t>::max()));
}

// Size in units of speed 1 that the job has with `more` units from the fastest pools that have some left.
double Allocator::effective_after(std::size_t job, std::uint32_t more) const {
  const UnitRequest& request = jobs_[job];
  if (left_.size() == 1) return effective_[job] + more * speed(request, 0);
  const auto row = out_->row(job, left_.size());
  double sum = 0, slowest = std::numeric_limits<double>::infinity();
  std::uint32_t total = 0;
  for (std::uint32_t p : fastest_) {
    if (!(request.pools >> p & 1)) continue;
    const std::uint32_t taken = std::min(more, left_[p] / request.unit);
    more -= taken;
    const std::uint32_t units = row[p] + taken;
    if (units == 0) continue;
    const double s = speed(request, p);
    sum += s * units;
    slowest = std::min(slowest, s);
    total += units;
  }
  if (total == 0) return 0;
  return request.mix == Mix::additive ? sum : slowest * total;
}

bool Allocator::account_allows(std::size_t job, std::uint32_t more) const {
  const UnitRequest& request = jobs_[job];
  if (request.account >= options_.account_caps.size()) return true;
  return account_used_[request.account] + std::uint64_t{more} * request.unit <=
         options_.account_caps[request.account];
}

void Allocator::take(std::size_t job, std::uint32_t more) {
  const UnitRequest& request = jobs_[job];
  effective_[job] = effective_after(job, more);
  out_->units[job] += more;
  if (request.account < account_used_.size())
    account_used_[request.account] += std::uint64_t{more} * request.unit;
  for (std::uint32_t p : fastest_) {
    if (!(request.pools >> p & 1)) continue;
    const std::uint32_t taken = std::min(more, left_[p] / request.unit);
    left_[p] -= taken * request.unit;
    out_->by_pool[job * left_.size() + p] += taken;
    more -= taken;
    if (more == 0) break;
  }
}

void Allocator::sort_by_key() {
  by_key_.resize(jobs_.size());
  std::iota(by_key_.begin(), by_key_.end(), 0U);
  const auto less = [&](std::uint32_t a, std::uint32_t b) { return jobs_[a].key < jobs_[b].key; };
  if (!std::is_sorted(by_key_.begin(), by_key_.end(), less))
    std::stable_sort(by_key_.begin(), by_key_.end(), less);
  order_of_.resize(jobs_.size());
  for (std::uint32_t i = 0; i < by_key_.size(); ++i) order_of_[by_key_[i]] = i;
}

void Allocator::give_minima() {
  std::uint64_t wanted = 0, there = 0;
  for (const UnitRequest& job : jobs_) wanted += std::uint64_t{job.min} * job.unit;
  for (const Pool& pool : pools_) there += pool.capacity;
  std::vector<std::uint32_t> ranked(by_key_);
  // Where all surely fit the order changes nothing; with several pools it may.
  if (wanted > there || pools_.size() > 1 || !options_.account_caps.empty())
    std::stable_sort(ranked.begin(), ranked.end(), [&](std::uint32_t a, std::uint32_t b) {
      return finite(jobs_[a].rank) > finite(jobs_[b].rank);
    });
  for (std::uint32_t job : ranked) {
    const UnitRequest& request = jobs_[job];
    if (!sensible(request, pools_.size())) continue;
    std::uint32_t first = request.min;
    if (!request.sizes.empty()) {
      const auto size = std::lower_bound(request.sizes.begin(), request.sizes.end(), request.min);
      if (size == request.sizes.end() || *size > request.max) continue;
      first = *size;
    }
    if (available(job) >= first && account_allows(job, first)) take(job, first);
  }
}

void Allocator::give_floors() {
  double budget = 0;
  for (const Pool& pool : pools_) budget += pool.capacity;
  budget *= std::clamp(finite(options_.floor_share), 0.0, 1.0);
  for (std::uint32_t job : by_key_) {
    const UnitRequest& request = jobs_[job];
    std::uint32_t& held = out_->units[job];
    std::uint32_t want = std::min(request.floor, request.max);
    if (held == 0 || want <= held) continue;
    want = std::min(want - held, available(job)) + held;
    want = std::min(want, held + static_cast<std::uint32_t>(std::max(budget, 0.0) / request.unit));
    if (!request.sizes.empty()) {
      const auto above = std::upper_bound(request.sizes.begin(), request.sizes.end(), want);
      want = above == request.sizes.begin() ? held : *(above - 1);
    }
    if (want <= held || !account_allows(job, want - held)) continue;
    budget -= static_cast<double>(want - held) * request.unit;
    take(job, want - held);
  }
}

// Hulls of the jobs whose next unit may be worth more than the one before, or that can't take single units.
void Allocator::make_hulls() {
  hull_sizes_.clear();
  hull_values_.clear();
  hulls_.assign(jobs_.size(), {});
  std::vector<HullPoint> points;
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    const UnitRequest& request = jobs_[job];
    const std::uint32_t held = out_->units[job];
    if (held == 0 || (request.concave && request.sizes.empty())) continue;
    points.clear();
    const auto add = [&](std::uint32_t size) {
      points.push_back({static_cast<double>(size), finite(objective_->value(job, size))});
    };
    if (!request.sizes.empty()) {
      for (std::uint32_t size : request.sizes)
        if (size >= held && size <= request.max && (points.empty() || size > points.back().x)) add(size);
    } else {
      const double ratio = std::pow(static_cast<double>(request.max) / held, 1.0 / (hull_samples - 1));
      for (double at = held; at < request.max; at = std::max(at + 1, std::floor(at * ratio)))
        add(static_cast<std::uint32_t>(at));
      add(request.max);
    }
    points.resize(concave_hull(points));
    hulls_[job].begin = static_cast<std::uint32_t>(hull_sizes_.size());
    for (const HullPoint& point : points) {
      hull_sizes_.push_back(static_cast<std::uint32_t>(point.x));
      hull_values_.push_back(point.y);
    }
    hulls_[job].end = static_cast<std::uint32_t>(hull_sizes_.size());
  }
}

// Units of the job's next step; 0 when it has its most or nothing that fits is left.
std::uint32_t Allocator::step(std::size_t job) const {
  const UnitRequest& request = jobs_[job];
  const std::uint32_t held = out_->units[job];
  if (held >= request.max) return 0;
  const std::uint32_t most = std::min(available(job), request.max - held);
  if (most == 0) return 0;
  if (request.sizes.empty()) return account_allows(job, 1) ? 1 : 0;
  // The next corner of the hull; where that no longer fits, the largest allowed size that does.
  const Range hull = hulls_[job];
  const auto first = hull_sizes_.begin() + hull.begin, last = hull_sizes_.begin() + hull.end;
  const auto corner = std::upper_bound(first, last, held);
  if (corner != last && *corner - held <= most && account_allows(job, *corner - held)) return *corner - held;
  auto size = std::upper_bound(request.sizes.begin(), request.sizes.end(), held + most);
  while (size != request.sizes.begin() && *(size - 1) > held) {
    --size;
    if (account_allows(job, *size - held)) return *size - held;
  }
  return 0;
}

bool Allocator::next_entry(std::size_t job, Entry& entry) const {
  const std::uint32_t more = step(job);
  if (more == 0) return false;
  const UnitRequest& request = jobs_[job];
  const std::uint32_t held = out_->units[job];
  const double cores = static_cast<double>(more) * request.unit;
  double density;
  const Range hull = hulls_[job];
  if (hull.begin != hull.end && request.sizes.empty()) {
    const auto first = hull_sizes_.begin() + hull.begin, last = hull_sizes_.begin() + hull.end;
    const auto corner = std::max(std::upper_bound(first, last, held), first + 1);
    const std::size_t to =
        static_cast<std::size_t>((corner == last ? last - 1 : corner) - hull_sizes_.begin());
    const double slope = (hull_values_[to] - hull_values_[to - 1]) /
                         (static_cast<double>(hull_sizes_[to] - hull_sizes_[to - 1]) * request.unit);
    density = slope * (effective_after(job, more) - effective(job)) / more;
  } else {
    density = objective_->density(job, effective(job), effective_after(job, more), cores);
  }
  entry = {std::isnan(density) ? 0 : density, held, order_of_[job]};
  return entry.density >= 0;  // a step that hurts (a slow part in a slowest-rank job) is never taken
}

void Allocator::auction() {
  heap_.clear();
  Entry entry;
  for (std::size_t job = 0; job < jobs_.size(); ++job)
    if (out_->units[job] > 0 && next_entry(job, entry)) heap_.push_back(entry);
  std::make_heap(heap_.begin(), heap_.end(), before);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), before);
    const Entry top = heap_.back();
    heap_.pop_back();
    const std::size_t job = by_key_[top.order];
    const std::uint32_t more = step(job);
    if (more == 0) continue;
    if (left_.size() > 1 || !jobs_[job].sizes.empty()) {
      // What was the best offer when this entry was made may be gone; its worth only falls, so ask again.
      if (!next_entry(job, entry)) continue;
      if (!heap_.empty() && before(entry, top) && before(entry, heap_.front())) {
        heap_.push_back(entry);
        std::push_heap(heap_.begin(), heap_.end(), before);
        continue;
      }
    }
    take(job, more);
    if (next_entry(job, entry)) {
      heap_.push_back(entry);
      std::push_heap(heap_.begin(), heap_.end(), before);
    }
  }
}

void Allocator::run(std::span<const Pool> pools, std::span<const UnitRequest> jobs,
                    const Objective& objective, const AllocatorOptions& options, Allocation& out) {
  pools_ = pools.first(std::min(pools.size(), max_pools));
  jobs_ = jobs;
  objective_ = &objective;
  options_ = options;
  out_ = &out;
  out.units.assign(jobs.size(), 0);
  out.by_pool.assign(jobs.size() * pools_.size(), 0);
  effective_.assign(jobs.size(), 0);
  account_used_.assign(options.account_caps.size(), 0);
  left_.resize(pools_.size());
  fastest_.resize(pools_.size());
  for (std::size_t p = 0; p < pools_.size(); ++p) left_[p] = pools_[p].capacity;
  std::iota(fastest_.begin(), fastest_.end(), 0U);
  std::stable_sort(fastest_.begin(), fastest_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return pools_[a].speed > pools_[b].speed; });
  if (pools_.empty()) return;
  sort_by_key();
  give_minima();
  give_floors();
  make_hulls();
  auction();
}

}  // namespace mlq
