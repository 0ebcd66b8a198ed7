// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm-plugin/engine/sizer.hpp"

#include <algorithm>
#include <cmath>

#include "slurm-plugin/engine/capacity.hpp"

namespace mlq::engine {
namespace {

/// In what its range counts, however many of those a unit is.
std::string number(std::uint32_t units, const SizeRange& range) {
  return std::to_string(units * (range.counts_gpus() ? range.gpus : 1));
}

std::string units_text(std::uint32_t units, const SizeRange& range) {
  const std::string text = number(units, range);
  const std::string plural = text == "1" ? "" : "s";
  if (range.nodes) return text + " node" + plural;
  if (range.counts_gpus()) return text + " GPU" + plural;
  if (range.unit == 1) return text + " core" + plural;
  return text + " unit" + plural + " of " + std::to_string(range.unit) + " cores";
}

std::string between(const SizeRange& range) {
  return number(range.min, range) + " to " + number(range.max, range);
}

std::string reason_text(const SizeRange& range, const SizeChoice& choice) {
  std::string text = units_text(choice.units, range) + " of " + between(range) + ": ";
  const std::string asked = number(range.asked, range);
  switch (choice.reason) {
    case SizeReason::kept:
      return text + "as it asks for; nothing that could start now is better by enough";
    case SizeReason::share:
      return text + "its share of what is idle, before " + asked;
    case SizeReason::fewer:
      return text + "as good as the " + asked + " before, by its curve or beside others";
    case SizeReason::sooner:
      return text + "that many can start now, the " + asked + " before would wait";
    case SizeReason::waits:
      return text + "waiting for them is worth more than the " + number(choice.share, range) +
             " that could start now";
    case SizeReason::no_room:
      return text + "not even its least has room now";
    case SizeReason::bounds:
      return text + "the " + asked + " before were outside";
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
  limited_.clear();
  std::map<std::uint32_t, const mlq_waiting_snapshot_t*> waiting;
  for (std::size_t w = 0; cluster != nullptr && w < cluster->waiting_count; w++)
    waiting[cluster->waiting[w].job_id] = &cluster->waiting[w];
  for (const Pending& pending : jobs) {
    if (!concerns(pending)) continue;
    Memory& memory = remember(*pending.seen);
    Member member{
        pending, size_range(pending.job->request(), pending.seen->size, memory.nodes), nullptr, &memory, {}};
    // a slurmctld before this one put its size there
    if (!memory.known && pending.job->asked > 0) memory.limit.put(pending.job->asked, member.range.asked);
    memory.known = true;
    memory.limit.see(member.range.asked);
    pending.job->asked = memory.limit.own(member.range.asked);
    if (pending.job->asked > 0)
      member.range = size_range(pending.job->request(), pending.seen->size, memory.nodes, pending.job->asked);
    if (pending.seen->size.limit == nullptr) memory.limit.rest(now);
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
    else if (pending.seen->size.limit != nullptr)
      limited_.push_back(std::move(member));
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

/// By falling priority, as Slurm would: those before a job have their place before it has. What is left is
/// for `members`; all others have theirs as they stand.
void Sizer::place_waiting(const mlq_cluster_snapshot_t& cluster, std::span<Member> members) {
  std::vector<NodeRoom> left = idle_room(cluster);
  room_ = left;
  std::map<const mlq_waiting_snapshot_t*, Member*> by_waiting;
  for (Member& member : members) by_waiting[member.waiting] = &member;
  for (std::size_t w = 0; w < cluster.waiting_count; w++) {
    const mlq_waiting_snapshot_t& job = cluster.waiting[w];
    std::uint32_t required = 0;
    std::vector<char> allowed = waiting_nodes(cluster, job, required);
    const auto member = by_waiting.find(&job);
    if (const auto placement = place(waiting_shape(job, required), left, {}, allowed)) {
      settle_placement(*placement, {}, left);
      if (member == by_waiting.end()) settle_placement(*placement, {}, room_);
    }
    if (member != by_waiting.end()) member->second->allowed = std::move(allowed);
  }
}

/// What it could use of a node: units, or CPUs where these are what it counts, and units may lie on several
/// nodes.
std::uint32_t Sizer::usable(const Member& member, std::size_t node) const {
  const mlq_waiting_snapshot_t& waiting = *member.waiting;
  const SizeRange& range = member.range;
  // a single task grows with its GPUs
  const std::uint32_t per_task = range.one_task() ? 1 : std::max(waiting.cpus_per_task, 1U);
  const NodeRoom& room = room_[node];
  if (member.allowed[node] == 0 || (waiting.whole_nodes && room.idle != room.cpus)) return 0;
  const std::uint32_t cpus = room.idle / per_task * per_task;
  if (cpus < (range.one_task() ? 1 : std::max(waiting.cpus_per_node, 1U))) return 0;
  if (!range.nodes && range.gpus == 0) return cpus;
  std::uint32_t units = cpus / range.unit;
  if (range.gpus > 0) units = std::min(units, room.gpus.count(waiting.gpu_types) / range.gpus);
  return range.nodes ? std::min(units, 1U) : units;
}

/// Units that could start now were it the only one whose size is chosen.
std::uint32_t Sizer::room_for(const Member& member) const {
  const mlq_waiting_snapshot_t& waiting = *member.waiting;
  const SizeRange& range = member.range;
  std::vector<std::uint32_t> by_node;
  for (std::size_t n = 0; n < room_.size(); n++) {
    if (const std::uint32_t here = usable(member, n); here > 0) by_node.push_back(here);
  }
  if (range.nodes) return static_cast<std::uint32_t>(by_node.size());
  std::sort(by_node.rbegin(), by_node.rend());
  const std::uint32_t most = range.one_task() ? 1 : waiting.max_nodes;
  if (most > 0 && by_node.size() > most) by_node.resize(most);
  if (by_node.size() < waiting.nodes) return 0;
  std::uint64_t total = 0;
  for (const std::uint32_t here : by_node) total += here;
  if (!range.counts_gpus()) total /= range.unit;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(total, MLQ_UNITS_MAX));
}

void Sizer::take(double now, const mlq_config_t& config, Member& member, const PendingJob& job,
                 const SizeChoice& choice) {
  Memory& memory = *member.memory;
  std::string& reason = member.pending.job->size_reason;
  reason = reason_text(member.range, choice) + memory.limit.text();
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
  member.memory->limit.put(member.range.asked, units);
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

void Sizer::obey_limit(double now, const mlq_config_t& config, const Member& member) {
  Memory& memory = *member.memory;
  const SizeRange& range = member.range;
  const std::string limit = member.pending.seen->size.limit;
  std::string& reason = member.pending.job->size_reason;
  reason = "not chosen: it waits for " + limit;
  if (config.mode != MLQ_MODE_ACTIVE || sizings_.size() >= most_per_cycle) return;
  const double unchanged =
      now - std::max(memory.changed_at, static_cast<double>(member.pending.seen->submit_time));
  const std::uint32_t units = memory.limit.instead(limit, range, member.pending.seen->size, unchanged, now);
  if (units == 0) return;
  reason = units_text(units, range) + " of " + between(range) + ": with the " + number(range.asked, range) +
           " before it waits for " + limit;
  emit(member, units);
}

/// For those that share what is idle: CPUs, or GPUs of the same types.
void Sizer::choose(double now, const mlq_config_t& config, const mlq_cluster_snapshot_t& cluster,
                   std::span<Member> members, const FamilyOf& family_of) {
  place_waiting(cluster, members);
  const std::uint32_t gpu_types = members.front().gpu_types();
  std::uint64_t idle = 0;
  double cores = 0;
  for (const NodeRoom& node : room_) {
    idle += gpu_types != 0 ? node.gpus.count(gpu_types) : node.idle;
    cores += node.cpus;
  }
  std::vector<PendingJob> sizable;
  sizable.reserve(members.size());
  for (const Member& member : members) {
    PendingJob job;
    const bool grows = member.pending.job->request().resize == MLQ_RESIZE_COMPANION;
    job.key = member.pending.seen->job_id;
    job.rank = member.waiting->priority;
    job.unit = gpu_types != 0 ? member.range.gpus : member.range.unit;
    job.min = member.range.min;
    job.max = member.range.max;
    member.memory->limit.narrow(job.min, job.max);
    job.asked = member.range.asked;
    job.room = room_for(member);
    job.waited = std::max(0.0, now - static_cast<double>(member.pending.seen->submit_time));
    job.horizon = config.horizon_s * (grows ? 1 : lasting_horizons);
    job.grows = grows;
    sizable.push_back(job);
  }
  const std::vector<SizeChoice> choices =
      size_pending(sizable, static_cast<std::uint32_t>(std::min<std::uint64_t>(idle, UINT32_MAX)),
                   Value(members, cores, family_of));
  for (std::size_t j = 0; j < members.size(); j++) take(now, config, members[j], sizable[j], choices[j]);
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
  for (const Member& member : limited_) obey_limit(now, config, member);
  std::stable_sort(members_.begin(), members_.end(),
                   [](const Member& a, const Member& b) { return a.gpu_types() < b.gpu_types(); });
  for (auto first = members_.begin(); first != members_.end();) {
    const auto last = std::find_if(first, members_.end(),
                                   [first](const Member& m) { return m.gpu_types() != first->gpu_types(); });
    choose(now, config, *cluster, {first, last}, family_of);
    first = last;
  }
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
