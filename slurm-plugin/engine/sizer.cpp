// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm-plugin/engine/sizer.hpp"

#include <algorithm>
#include <cmath>

#include "slurm-plugin/engine/capacity.hpp"

namespace mlq::engine {
namespace {

std::string units_text(std::uint32_t units, const SizeRange& range) {
  std::string text = std::to_string(units);
  if (range.nodes) return text + (units == 1 ? " node" : " nodes");
  if (range.unit == 1) return text + (units == 1 ? " core" : " cores");
  return text + (units == 1 ? " unit of " : " units of ") + std::to_string(range.unit) + " cores";
}

std::string between(const SizeRange& range) {
  return std::to_string(range.min) + " to " + std::to_string(range.max);
}

std::string reason_text(const SizeRange& range, const SizeChoice& choice) {
  std::string text = units_text(choice.units, range) + " of " + between(range) + ": ";
  switch (choice.reason) {
    case SizeReason::kept:
      return text + "as it asks for; nothing that could start now is better by enough";
    case SizeReason::share:
      return text + "its share of what is idle, before " + std::to_string(range.asked);
    case SizeReason::fewer:
      return text + "as good as the " + std::to_string(range.asked) +
             " before, by its curve or beside others";
    case SizeReason::sooner:
      return text + "that many can start now, the " + std::to_string(range.asked) + " before would wait";
    case SizeReason::waits:
      return text + "waiting for them is worth more than the " + std::to_string(choice.share) +
             " that could start now";
    case SizeReason::no_room:
      return text + "not even its least has room now";
    case SizeReason::bounds:
      return text + "the " + std::to_string(range.asked) + " before were outside";
  }
  return text;
}

}  // namespace

/// Gain by the job's own curve and speed, by its family, or as of any new job: the more, the nearer it comes
/// to having the whole cluster.
class Sizer::Value final : public PendingValue {
 public:
  Value(std::span<const Member> members, double cores, const FamilyOf& family_of)
      : members_(members), cores_(std::max(cores, 1.0)), family_of_(family_of) {}

  double gain(std::size_t index, std::uint32_t units, double seconds) const override {
    const Member& member = members_[index];
    const Job& job = *member.pending.job;
    const double cores = static_cast<double>(units) * member.range.unit;
    if (job.prospect().known && job.speed().known()) {
      const double useful = std::min(cores, job.speed().model().useful_cores());
      return job.prospect().gain(std::min(job.speed().rate(useful) * seconds, job.prospect().to_end));
    }
    if (const FamilyPrior* family = family_of_(job)) return family->gain(cores * seconds);
    return optimistic_gain(seconds) * std::min(1.0, cores / cores_);
  }

 private:
  std::span<const Member> members_;
  double cores_;
  const FamilyOf& family_of_;
};

Sizer::Memory& Sizer::remember(const mlq_job_snapshot_t& seen) {
  Memory& memory = memories_[seen.job_id];
  if (memory.submit != seen.submit_time) {
    const NodeRange nodes = seen.restarts > 0 ? memory.nodes : NodeRange{};
    memory = Memory();
    memory.submit = seen.submit_time;
    memory.nodes = nodes;
  }
  if (seen.size.max_nodes > seen.size.min_nodes) memory.nodes = {seen.size.min_nodes, seen.size.max_nodes};
  memory.asked = true;
  return memory;
}

bool Sizer::concerns(const Pending& pending) const {
  if (pending.seen->state != MLQ_JOB_PENDING) return false;
  const auto known = memories_.find(pending.seen->job_id);
  const NodeRange nodes = known == memories_.end() ? NodeRange{} : known->second.nodes;
  return size_range(pending.job->request(), pending.seen->size, nodes).given;
}

/// A component that did not start at the size that it was requeued for: nobody sees what it waits for, so it
/// asks for its earlier size again.
bool Sizer::waited_enough(Memory& memory, double now) {
  if (memory.before == 0 || now - memory.changed_at < put_back_s) return false;
  memory.back = memory.before;
  memory.before = 0;
  memory.changed_at = -1;
  memory.given = false;
  return true;
}

void Sizer::gather(std::span<const Pending> jobs, const mlq_cluster_snapshot_t* cluster, double now) {
  members_.clear();
  wanted_.clear();
  std::map<std::uint32_t, const mlq_waiting_snapshot_t*> waiting;
  for (std::size_t w = 0; cluster != nullptr && w < cluster->waiting_count; w++)
    waiting[cluster->waiting[w].job_id] = &cluster->waiting[w];
  for (const Pending& pending : jobs) {
    if (!concerns(pending)) continue;
    Memory& memory = remember(*pending.seen);
    Member member{pending, size_range(pending.job->request(), pending.seen->size, memory.nodes),
                  nullptr, &memory,
                  {},      {}};
    const auto found = waiting.find(pending.seen->job_id);
    if (found != waiting.end() && found->second->submit_time == pending.seen->submit_time)
      member.waiting = found->second;
    std::string& reason = pending.job->size_reason;
    if (!member.range.refusal.empty())
      reason = "not chosen: " + member.range.refusal;
    else if (!pending.off.empty())
      reason = "not chosen: " + pending.off;
    else if (now < memory.refused_until)
      reason = "not chosen: Slurm refused it: " + memory.refusal;
    else if (pending.wanted > 0 &&
             (!memory.given || (pending.seen->het_job_id != 0 && waited_enough(memory, now))))
      wanted_.push_back(std::move(member));
    else if (pending.seen->het_job_id != 0)
      reason = "not chosen: a component of a heterogeneous job gets another size by a requeue only";
    else if (cluster == nullptr)
      reason = "not chosen: what the cluster has idle is not known";
    else if (member.waiting == nullptr)
      reason = "not chosen yet: it waits for something else than its turn";
    else
      members_.push_back(std::move(member));
  }
  std::erase_if(memories_, [](const auto& entry) { return !entry.second.asked; });
  for (auto& [id, memory] : memories_) memory.asked = false;
}

/// By falling priority, as Slurm would: those before a job have their place before it has.
void Sizer::place_waiting(const mlq_cluster_snapshot_t& cluster) {
  room_ = idle_room(cluster);
  std::map<const mlq_waiting_snapshot_t*, Member*> by_waiting;
  for (Member& member : members_) by_waiting[member.waiting] = &member;
  for (std::size_t w = 0; w < cluster.waiting_count; w++) {
    const mlq_waiting_snapshot_t& job = cluster.waiting[w];
    std::uint32_t required = 0;
    std::vector<char> allowed = waiting_nodes(cluster, job, required);
    const auto member = by_waiting.find(&job);
    if (const auto placement = place(waiting_shape(job, required), room_, {}, allowed)) {
      settle_placement(*placement, {}, room_);
      if (member != by_waiting.end()) member->second->taken = placement->taken;
    }
    if (member != by_waiting.end()) member->second->allowed = std::move(allowed);
  }
  for (const Member& member : members_) {
    for (const NodeShare& share : member.taken) room_[share.node].idle += share.cpus;
  }
}

/// Units that could start now were it the only one whose size is chosen.
std::uint32_t Sizer::room_for(const Member& member) const {
  const mlq_waiting_snapshot_t& waiting = *member.waiting;
  const std::uint32_t per_task = std::max(waiting.cpus_per_task, 1U);
  std::vector<std::uint32_t> cpus;  // usable, by node
  for (std::size_t n = 0; n < room_.size(); n++) {
    if (member.allowed[n] == 0) continue;
    const bool whole = room_[n].idle == room_[n].cpus;
    const std::uint32_t usable = waiting.whole_nodes && !whole ? 0 : room_[n].idle / per_task * per_task;
    if (usable >= std::max(waiting.cpus_per_node, 1U)) cpus.push_back(usable);
  }
  if (member.range.nodes) {
    const auto fits = [&](std::uint32_t have) { return have >= member.range.unit; };
    return static_cast<std::uint32_t>(std::count_if(cpus.begin(), cpus.end(), fits));
  }
  std::sort(cpus.rbegin(), cpus.rend());
  if (waiting.max_nodes > 0 && cpus.size() > waiting.max_nodes) cpus.resize(waiting.max_nodes);
  if (cpus.size() < waiting.nodes) return 0;
  std::uint64_t total = 0;
  for (const std::uint32_t have : cpus) total += have;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(total / member.range.unit, MLQ_UNITS_MAX));
}

void Sizer::take(double now, const mlq_config_t& config, Member& member, const PendingJob& job,
                 const SizeChoice& choice) {
  Memory& memory = *member.memory;
  std::string& reason = member.pending.job->size_reason;
  reason = reason_text(member.range, choice);
  if (choice.units == job.asked) return;
  if (config.mode != MLQ_MODE_ACTIVE) {
    reason += "; not applied: mlq_mode=dry-run";
    return;
  }
  if (memory.changed_at >= 0 && now - memory.changed_at < dwell_s) {
    reason += "; in a moment, for it was changed just now";
    return;
  }
  if (sizings_.size() >= most_per_cycle) return;
  emit(member, choice.units);
}

/// For the reason that the job has now.
void Sizer::emit(const Member& member, std::uint32_t units) {
  mlq_sizing_t sizing = sized(member.range, member.pending.seen->size, units);
  sizing.job_id = member.pending.seen->job_id;
  sizing.restarts = member.pending.seen->restarts;
  sizing.submit_time = member.pending.seen->submit_time;
  reasons_.push_back(member.pending.job->size_reason);
  sizing.reason = reasons_.back().c_str();
  sizings_.push_back(sizing);
}

/// While Slurm keeps it back: what it was requeued for. Once it is eligible its size is chosen as any
/// other's.
void Sizer::give(double now, const Member& member) {
  Memory& memory = *member.memory;
  const std::uint32_t units =
      memory.back > 0 ? memory.back : std::clamp(member.pending.wanted, member.range.min, member.range.max);
  const std::string asked = std::to_string(member.range.asked);
  member.pending.job->size_reason =
      units_text(units, member.range) + " of " + between(member.range) +
      (memory.back > 0 ? ": as before it was requeued, for it has not started with " + asked
                       : ": it was requeued for that, before " + asked);
  if (units == member.range.asked || memory.changed_at >= 0) {
    memory.given = true;
    memory.changed_at = now;
    memory.back = 0;
  } else if (sizings_.size() < most_per_cycle) {
    if (memory.back == 0) memory.before = member.range.asked;
    emit(member, units);
  }
}

std::span<const mlq_sizing_t> Sizer::decide(double now, const mlq_config_t& config,
                                            std::span<const Pending> jobs,
                                            const mlq_cluster_snapshot_t* cluster,
                                            const FamilyOf& family_of) {
  sizings_.clear();
  reasons_.clear();
  gather(jobs, cluster, now);
  if (config.mode == MLQ_MODE_ACTIVE) {
    for (const Member& member : wanted_) give(now, member);
  }
  if (members_.empty()) return sizings_;
  place_waiting(*cluster);
  std::uint64_t idle = 0;
  double cores = 0;
  for (const NodeRoom& node : room_) idle += node.idle, cores += node.cpus;
  std::vector<PendingJob> sizable;
  sizable.reserve(members_.size());
  for (const Member& member : members_) {
    PendingJob job;
    const bool grows = member.pending.job->request().resize == MLQ_RESIZE_COMPANION;
    job.key = member.pending.seen->job_id;
    job.rank = member.waiting->priority;
    job.unit = member.range.unit;
    job.min = member.range.min;
    job.max = member.range.max;
    job.asked = member.range.asked;
    job.room = room_for(member);
    job.waited = std::max(0.0, now - static_cast<double>(member.pending.seen->submit_time));
    job.horizon = config.horizon_s * (grows ? 1 : lasting_horizons);
    job.grows = grows;
    sizable.push_back(job);
  }
  const std::vector<SizeChoice> choices =
      size_pending(sizable, static_cast<std::uint32_t>(std::min<std::uint64_t>(idle, UINT32_MAX)),
                   Value(members_, cores, family_of));
  for (std::size_t j = 0; j < members_.size(); j++) take(now, config, members_[j], sizable[j], choices[j]);
  return sizings_;
}

void Sizer::done(std::uint32_t job_id, std::int64_t submit, const char* error, double now) {
  const auto found = memories_.find(job_id);
  if (found == memories_.end() || found->second.submit != submit) return;
  Memory& memory = found->second;
  if (error == nullptr) {
    memory.changed_at = now;
    return;
  }
  memory.refused_until = now + refused_s;
  memory.refusal = error;
}

}  // namespace mlq::engine
