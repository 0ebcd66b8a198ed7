// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/allocation/policies.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mlq {

namespace {

double capacity_of(const ClusterView& view) {
  double cores = 0;
  for (const Pool& pool : view.pools) cores += pool.capacity;
  return cores;
}

}  // namespace

// --- slaq ------------------------------------------------------------------

const Objective& SlaqPolicy::prepare(const ClusterView& view, std::vector<UnitRequest>& requests,
                                     AllocatorOptions& options) {
  view_ = &view;
  options.floor_share = 1;
  const double fair = view.jobs.empty() ? 0 : std::floor(capacity_of(view) / view.jobs.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const TwoPointForecast* recent = view.jobs[i].recent;
    if (recent && recent->losses() > 1) continue;
    UnitRequest& request = requests[i];
    request.floor =
        static_cast<std::uint32_t>(std::clamp<double>(fair / request.unit, request.min, request.max));
    request.max = request.floor;
  }
  return *this;
}

double SlaqPolicy::value(std::size_t job, double units) const {
  const TwoPointForecast* recent = view_->jobs[job].recent;
  return recent ? recent->gain(units * view_->jobs[job].request.unit, view_->horizon) : 0;
}

// A rising loss has a negative gain: such a job takes what is left over.
double SlaqPolicy::density(std::size_t job, double from, double to, double cores) const {
  return std::max(Objective::density(job, from, to, cores), 0.0);
}

// --- maxmin ----------------------------------------------------------------

const Objective& MaxMinPolicy::prepare(const ClusterView& view, std::vector<UnitRequest>&,
                                       AllocatorOptions&) {
  view_ = &view;
  fair_cores_ = std::max(1.0, capacity_of(view) / std::max<double>(1, view.jobs.size()));
  return *this;
}

double MaxMinPolicy::value(std::size_t job, double units) const {
  const JobView& view = view_->jobs[job];
  if (!view.outlook || !view.outlook->known || !view.rate.known())  // like a job that needs its fair share
    return 1 - std::exp2(-units * view.request.unit / fair_cores_);
  const Outlook& outlook = *view.outlook;
  return std::min(
      1.0, outlook.fraction + outlook.gain(view.rate.rate(units * view.request.unit) * view_->horizon));
}

double MaxMinPolicy::density(std::size_t job, double from, double, double) const {
  return 1 - value(job, from);
}

// --- fair ------------------------------------------------------------------

const Objective& FairPolicy::prepare(const ClusterView& view, std::vector<UnitRequest>&, AllocatorOptions&) {
  view_ = &view;
  return *this;
}

double FairPolicy::value(std::size_t job, double units) const {
  return std::log1p(units * view_->jobs[job].request.unit);
}

double FairPolicy::density(std::size_t job, double from, double, double) const {
  return 1 / (1 + from * view_->jobs[job].request.unit);
}

// --- fifo, las, srtf -------------------------------------------------------

std::string_view OrderPolicy::name() const {
  switch (by_) {
    case By::arrival:
      return "fifo";
    case By::attained:
      return "las";
    case By::remaining:
      return "srtf";
  }
  return "";
}

const Objective& OrderPolicy::prepare(const ClusterView& view, std::vector<UnitRequest>&, AllocatorOptions&) {
  worth_.assign(view.jobs.size(), 0);
  std::vector<std::size_t> order(view.jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return view.jobs[a].arrival < view.jobs[b].arrival; });
  for (std::size_t place = 0; place < order.size(); ++place) {
    const JobView& job = view.jobs[order[place]];
    double first = static_cast<double>(place);
    if (by_ == By::attained) first = std::floor(std::log2(1 + std::max(job.attained, 0.0)));
    if (by_ == By::remaining && job.truth) first = job.truth->to_end * std::max(job.true_rate.work, 1e-9);
    worth_[order[place]] = 1 / (1 + first) * job.request.unit;
  }
  return *this;
}

double OrderPolicy::value(std::size_t job, double units) const {
  return worth_[job] * units;
}

}  // namespace mlq
