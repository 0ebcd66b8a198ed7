// SPDX-License-Identifier: GPL-2.0-or-later
// Requeues: heterogeneous jobs. Slurm requeues all components together; the first one with resize=requeue is
// followed, and says for each of them what it is to have.
#include <algorithm>

#include "slurm-plugin/engine/requeues.hpp"

namespace mlq::engine {

void Requeues::link(std::span<Job* const> jobs) {
  components_.clear();
  for (Job* job : jobs) {
    job->others_sized = false;
    if (job->seen().het_job_id != 0 && concerns(*job)) components_[job->seen().het_job_id].push_back(job);
  }
  for (auto& [leader, components] : components_) {
    std::sort(components.begin(), components.end(),
              [](const Job* a, const Job* b) { return a->seen().het_offset < b->seen().het_offset; });
    for (Job* job : components) job->others_sized = components.size() > 1;
  }
}

const std::vector<Job*>* Requeues::components_of(const Job& job) const {
  const auto found = components_.find(job.seen().het_job_id);
  return found == components_.end() ? nullptr : &found->second;
}

/// No component, or the one that stands for all.
bool Requeues::followed(const Job& job) const {
  if (!concerns(job)) return false;
  const std::vector<Job*>* components = components_of(job);
  return components == nullptr || components->front() == &job;
}

std::uint32_t Requeues::wanted(const Job& job) const {
  const std::vector<Job*>* components = components_of(job);
  const Job& head = components == nullptr ? job : *components->front();
  const RequeueState& state = head.requeue;
  if (!state.to_check(head.seen().restarts) || head.seen().state != MLQ_JOB_PENDING) return 0;
  if (&head == &job) return state.kept.units;
  for (const ComponentUnits& one : state.kept.components) {
    if (one.offset == job.seen().het_offset) return one.units;
  }
  return 0;
}

/// Takes note of what one under way is to have.
void Requeues::claim(const Job& job) {
  const auto take = [this](const Job& one, std::uint32_t units) {
    const SizeRange range = size_range(one.request(), one.asks, {}, one.asked);
    claimed_ += std::uint64_t{units} * std::max(1U, range.unit);
    claimed_gpus_ += std::uint64_t{units} * range.gpus;
  };
  const RequeueRecord& kept = job.requeue.kept;
  take(job, kept.units);
  const std::vector<Job*>* components = components_of(job);
  for (std::size_t i = 1; components != nullptr && i < components->size(); i++) {
    const Job& other = *(*components)[i];
    for (const ComponentUnits& one : kept.components) {
      if (one.offset == other.seen().het_offset) take(other, one.units);
    }
  }
}

/// Its components that may be sized, what each could have, and what the rest has.
void Requeues::gather_components(const mlq_cluster_snapshot_t& cluster, Member& member) const {
  std::vector<SizedComponent> sized;
  const SizeRange own = member.range;
  std::string refusal;
  std::uint64_t taken = 0;
  for (const Job* job : *components_of(*member.job)) {
    if (sized.size() >= RequeueRecord::most_components) break;
    const bool runs = job->seen().state == MLQ_JOB_RUNNING;
    SizedComponent one{job->seen().het_offset, size_range(job->request(), job->asks, {}, job->asked), 1, 1};
    if (!one.range.given || !runs) continue;
    if (one.range.gpus > 0)
      one.range.refusal = "components of heterogeneous jobs that ask for GPUs keep their size";
    if (!one.range.refusal.empty()) {
      refusal = one.range.refusal;
      continue;
    }
    one.base = units_held(*job, one.range);
    one.room = std::max(unclaimed(*member.job, one.range, room_for(cluster, *job, one.range)), one.base);
    taken += std::uint64_t{one.base} * one.range.unit;
    sized.push_back(one);
  }
  const auto all = static_cast<std::uint64_t>(member.job->seen().cores + member.job->other_components());
  if (sized.empty()) {
    member.range.given = own.given || !refusal.empty();
    member.range.refusal = refusal;
  } else {
    member.range.given = true;
    member.range.refusal.clear();
  }
  member.het.emplace(std::move(sized), static_cast<std::uint32_t>(all > taken ? all - taken : 0));
  member.base = member.want = member.het->now();
}

void Requeues::set_wanted(Member& member) {
  RequeueRecord& kept = member.job->requeue.kept;
  kept.units = member.want;
  kept.components.clear();
  if (!member.het) return;
  kept.units = 0;
  const std::vector<std::uint32_t> units = member.het->units_at(member.want);
  for (std::size_t i = 0; i < units.size(); i++) {
    const std::uint32_t offset = member.het->components()[i].offset;
    if (offset == member.job->seen().het_offset)
      kept.units = units[i];
    else
      kept.components.push_back({offset, units[i]});
  }
}

/// What it was announced for, as Member::base counts.
std::uint32_t Requeues::units_kept(const Member& member) {
  const RequeueRecord& kept = member.job->requeue.kept;
  if (!member.het) return kept.units;
  std::vector<std::uint32_t> units;
  for (const SizedComponent& component : member.het->components()) {
    std::uint32_t wanted = component.base;
    if (component.offset == member.job->seen().het_offset && kept.units > 0) wanted = kept.units;
    for (const ComponentUnits& one : kept.components) {
      if (one.offset == component.offset) wanted = one.units;
    }
    units.push_back(wanted);
  }
  return member.het->cpus_of(units);
}

std::string Requeues::units_now(const Member& member) {
  if (member.het->components().empty()) return std::to_string(member.base);
  std::string text;
  for (const SizedComponent& one : member.het->components())
    text += (text.empty() ? "" : " + ") + std::to_string(one.base);
  return text;
}

void Requeues::say_component(Job& job) {
  job.plan = Plan();
  if (job.seen().state != MLQ_JOB_RUNNING) return;
  const std::uint32_t units = units_held(job, size_range(job.request(), job.asks, {}, job.asked));
  job.plan.base = job.plan.held = job.plan.units = units;
  job.plan.reason = "component " + std::to_string(job.seen().het_offset) + " of heterogeneous job " +
                    std::to_string(job.seen().het_job_id) +
                    ": sized with its first one that has resize=requeue";
}

}  // namespace mlq::engine
