// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <cmath>

#include "core/allocation/policies.hpp"

namespace mlq {

namespace {

constexpr double least_iterations =
    0.5;  // to go: keeps a job about to reach its mark from an infinite weight

}  // namespace

QualityPolicy::Term QualityPolicy::term_of(const JobView& job, double now) const {
  const bool truth = knows_ == Knows::truth;
  const Outlook* outlook = truth ? job.truth : job.outlook;
  Term term{truth ? job.true_rate : job.rate, 0, static_cast<double>(job.request.unit)};
  if (!outlook || !term.rate.known()) return term;
  const double age = std::max(now - job.arrival, 0.0) / options().age_scale;
  term.weight = options().tail * std::pow(age + 1e-3, options().tail_age_power) /
                std::max(outlook->to_end, least_iterations);
  if (outlook->to_target > 0 && std::isfinite(outlook->to_target))
    term.weight = std::max(term.weight, 1 / std::max(outlook->to_target, least_iterations));
  return term;
}

const Objective& QualityPolicy::prepare(const ClusterView& view, std::vector<UnitRequest>& requests,
                                        AllocatorOptions& options_out) {
  double capacity = 0;
  for (const Pool& pool : view.pools) capacity += pool.capacity;
  options_out.floor_share = options().explore_share;
  const double fair = capacity / std::max<double>(1, view.jobs.size());
  terms_.clear();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const JobView& job = view.jobs[i];
    UnitRequest& request = requests[i];
    terms_.push_back(term_of(job, view.now));
    const Term& term = terms_.back();
    const double useful = std::ceil(term.rate.useful_cores() / request.unit);
    if (useful < request.max)
      request.max = std::max(request.min, static_cast<std::uint32_t>(std::max(useful, 1.0)));
    const bool fresh = knows_ == Knows::reports && (!job.outlook || !job.outlook->known) &&
                       view.now - job.arrival < options().explore_seconds;
    if (fresh)
      request.floor =
          static_cast<std::uint32_t>(std::clamp<double>(fair / request.unit, request.min, request.max));
  }
  return *this;
}

double QualityPolicy::value(std::size_t job, double units) const {
  const Term& term = terms_[job];
  return term.weight * term.rate.rate(units * term.unit);
}

}  // namespace mlq
