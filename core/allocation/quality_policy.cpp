// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <cmath>

#include "core/allocation/policies.hpp"

namespace mlq {

namespace {

constexpr double least_iterations =
    0.5;                             // to go: keeps a job about to reach its mark from an infinite weight
constexpr double crowding = 1.5;     // times longer than alone, to catch up
constexpr double served_shares = 2;  // equal shares that a new or an overdue job holds
// Where the end is not known; see QualityPolicy.
constexpr double guessed_worth = 0.5, guessed_age_power = 0.35, guessed_grace = 1.5;

// Units for so many cores, within the job's bounds.
std::uint32_t units_of(double cores, const UnitRequest& request) {
  const double units = std::min(cores / request.unit, static_cast<double>(request.max));
  return std::max(request.min, static_cast<std::uint32_t>(std::max(units, 0.0)));
}

}  // namespace

QualityPolicy::Term QualityPolicy::term_of(const JobView& job, double now) const {
  const Outlook* outlook = outlook_of(job);
  Term term{knows_ == Knows::truth ? job.true_rate : job.rate, 0, static_cast<double>(job.request.unit)};
  if (!outlook || !term.rate.known()) return term;
  const double age = std::max(now - job.arrival, 0.0) / clock_.typical_stay();
  const bool guessed = !outlook->end_known;
  const double power = options().tail_age_power + (guessed ? guessed_age_power : 0);
  term.weight = options().tail * (guessed ? guessed_worth : 1) * std::pow(age + 1e-3, power) /
                std::max(outlook->to_end, least_iterations);
  if (outlook->to_target > 0 && std::isfinite(outlook->to_target))
    term.weight += 1 / std::max(outlook->to_target, least_iterations);
  return term;
}

// Late by its work, had it been done in equal shares. A job that can still catch up by all the cores it can
// use is not; it is reckoned to take longer, as it won't be the only one.
bool QualityPolicy::overdue(const JobView& job, const Term& term, double fair_service) const {
  const Outlook* outlook = outlook_of(job);
  const double done = job.attained;
  if (!(done > 0) || !std::isfinite(done)) return false;
  double left = outlook && term.rate.known() ? outlook->to_end * term.rate.work : 0;
  if (!std::isfinite(left)) left = done;
  const bool guessed = !outlook || !outlook->end_known;
  if (guessed) left = std::min(left, done);
  const double most = static_cast<double>(job.request.max) * job.request.unit;
  const double share = std::min(clock_.share(), most);
  const double meanwhile = crowding * left * share / most;
  return fair_service + meanwhile >=
         (1 + options().slack) * (done + left) +
             options().grace * (guessed ? guessed_grace : 1) * clock_.typical_stay() * share;
}

// New jobs show themselves, within explore_share; returns the cores it takes. What a job is given then is
// worth keeping: a first size that is soon outgrown costs a move.
double QualityPolicy::set_explorers(const ClusterView& view, std::vector<UnitRequest>& requests,
                                    double capacity) {
  new_.clear();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const JobView& job = view.jobs[i];
    if (knows_ == Knows::reports && (!job.outlook || !job.outlook->known) &&
        view.now - job.arrival < options().explore_seconds)
      new_.push_back(i);
  }
  std::sort(new_.begin(), new_.end(),
            [&](std::size_t a, std::size_t b) { return requests[a].key < requests[b].key; });
  const double budget = std::clamp(options().explore_share, 0.0, 1.0) * capacity;
  double taken = 0, minima = 0;
  for (std::size_t i : new_) {
    UnitRequest& request = requests[i];
    const double least = static_cast<double>(request.min) * request.unit;
    request.floor = units_of(std::min(served_shares * clock_.share(), least + budget - taken), request);
    taken += static_cast<double>(request.floor) * request.unit - least;
    minima += least;
  }
  return taken + minima;
}

void QualityPolicy::set_floors(const ClusterView& view, std::vector<UnitRequest>& requests, double capacity) {
  const double left = capacity - set_explorers(view, requests, capacity);
  late_.clear();
  for (std::size_t i = 0; i < requests.size(); ++i)
    if (overdue(view.jobs[i], terms_[i], clock_.service()[i])) late_.push_back(i);
  // More than the share brings them back soon; when there are so many that this does not fit, all get the
  // same.
  for (std::size_t i : late_) {
    const double cores = std::min(served_shares * clock_.share(), left / static_cast<double>(late_.size()));
    requests[i].floor = std::max(requests[i].floor, units_of(cores, requests[i]));
  }
}

const Objective& QualityPolicy::prepare(const ClusterView& view, std::vector<UnitRequest>& requests,
                                        AllocatorOptions& options_out) {
  double capacity = 0;
  for (const Pool& pool : view.pools) capacity += pool.capacity;
  options_out.floor_share = 1;  // set_floors() keeps to explore_share
  clock_.advance(view);
  terms_.clear();
  terms_.reserve(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    UnitRequest& request = requests[i];
    terms_.push_back(term_of(view.jobs[i], view.now));
    const double useful = std::ceil(terms_.back().rate.useful_cores() / request.unit);
    if (useful < request.max)
      request.max = std::max(request.min, static_cast<std::uint32_t>(std::max(useful, 1.0)));
  }
  set_floors(view, requests, capacity);
  return *this;
}

double QualityPolicy::value(std::size_t job, double units) const {
  const Term& term = terms_[job];
  return term.weight * term.rate.rate(units * term.unit);
}

}  // namespace mlq
