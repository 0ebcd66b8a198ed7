// SPDX-License-Identifier: GPL-2.0-or-later
// Requeues: for whom another size is worth a restart. The same policy as for companions, over a longer time.
#include <algorithm>
#include <cmath>
#include <map>

#include "slurm-plugin/engine/requeues.hpp"

namespace mlq::engine {
namespace {

std::uint64_t partition_bit(const mlq_cluster_snapshot_t& cluster, const std::string& name) {
  for (std::size_t p = 0; p < cluster.partition_count; p++) {
    if (name == cluster.partitions[p]) return 1ULL << p;
  }
  return 0;
}

/// A job that waits for its turn there: it would start in the place of one that is requeued.
std::uint32_t first_waiting(const mlq_cluster_snapshot_t& cluster, const std::string& partition) {
  const std::uint64_t bit = partition_bit(cluster, partition);
  for (std::size_t w = 0; w < cluster.waiting_count; w++) {
    if ((cluster.waiting[w].partitions & bit) != 0) return cluster.waiting[w].job_id;
  }
  return 0;
}

}  // namespace

std::uint32_t units_held(const Job& job, const SizeRange& range) {
  if (range.nodes) return job.seen().nodes;
  if (range.counts_gpus()) return std::max(1U, job.seen().gpus / range.gpus);
  return std::max(1U, static_cast<std::uint32_t>(job.seen().cores) / std::max(1U, range.unit));
}

/// What keeps its size, whatever another one would bring; "" when nothing does.
std::string Requeues::why_not(const Job& job, const SizeRange& range, double now) const {
  const RequeueState& state = job.requeue;
  const auto whole = [](double value) { return std::to_string(std::lround(value)); };
  if (!job.requeueable) return "Slurm may not requeue it (Requeue=0)";
  if (!range.given) return "it names no range of sizes (min=, max=)";
  if (!range.refusal.empty()) return range.refusal;
  if (state.kept.back >= 0)
    return "it is not requeued again: it went on from iteration " + whole(state.kept.back) +
           ", though iteration " + whole(state.kept.iteration) + " was done when it was told to save";
  if (state.to_check(job.seen().restarts)) return "it was requeued and has not reported since";
  if (state.kept.done >= most && !state.under_way(job.seen().restarts))
    return "it has been requeued " + std::to_string(state.kept.done) + " times for its size: that is enough";
  if (now < state.not_before)
    return state.why_not_yet + ", tried again in " + whole(state.not_before - now) + " s";
  if (!job.prospect().known || !job.speed().known()) return "how fast it is has not been seen yet";
  return "";
}

/// CPUs of its own count as idle: it gives them back. What it has on further nodes is not known by node.
/// Components share no node, so a component may have nodes of its own and those that nobody is on.
std::uint32_t Requeues::room_for(const mlq_cluster_snapshot_t& cluster, const Job& job,
                                 const SizeRange& range) const {
  const SlurmView& seen = job.seen();
  const std::vector<char> allowed = capacity_.allowed(seen.partition, seen.features.c_str());
  const auto own = static_cast<std::uint32_t>(seen.cores) / std::max(1U, seen.nodes);
  const std::uint32_t own_gpus = seen.gpus / std::max(1U, seen.nodes);
  const std::uint32_t types = gpu_types_of(cluster, seen.gpu_type);
  const std::uint32_t per_task = std::max(1U, job.asks.cpus_per_task);
  const std::uint32_t unit = std::max(1U, range.unit);
  // units, or CPUs where these are what it counts, and units may lie on several nodes
  const auto usable = [&](std::uint32_t cpus, std::uint32_t gpus) {
    if (!range.nodes && range.gpus == 0) return cpus / per_task * per_task;
    const std::uint32_t units = range.gpus > 0 ? std::min(cpus / unit, gpus / range.gpus) : cpus / unit;
    return range.nodes ? std::min(units, 1U) : units;
  };
  std::vector<std::uint32_t> by_node;
  for (std::size_t n = 0; n < room_.size() && n < allowed.size(); n++) {
    const bool first = n == job.node;
    if (allowed[n] == 0 || (first && seen.nodes > 1)) continue;
    if (seen.het_job_id != 0 && !first && (!followed(job) || room_[n].idle < cluster.nodes[n].cpus)) continue;
    const std::uint32_t idle = room_[n].idle + (first ? own : 0);
    const bool whole = !job.asks.whole_nodes || idle >= cluster.nodes[n].cpus;
    const std::uint32_t here = usable(idle, room_[n].gpus.count(types) + (first ? own_gpus : 0));
    if (whole && here > 0) by_node.push_back(here);
  }
  if (seen.nodes > 1) by_node.insert(by_node.end(), seen.nodes, usable(own, own_gpus));
  if (range.nodes) return static_cast<std::uint32_t>(by_node.size());
  std::sort(by_node.rbegin(), by_node.rend());
  const std::uint32_t most = range.one_task() ? 1 : job.asks.max_nodes;
  if (most > 0 && by_node.size() > most) by_node.resize(most);
  std::uint64_t total = 0;
  for (const std::uint32_t here : by_node) total += here;
  if (!range.counts_gpus()) total /= unit;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(total, MLQ_UNITS_MAX));
}

/// Of that room, what those under way are not to have. Its own claim is none against it.
std::uint32_t Requeues::unclaimed(const Job& job, const SizeRange& range, std::uint32_t room) const {
  if (job.requeue.under_way(job.seen().restarts)) return room;
  const std::uint64_t claimed =
      range.counts_gpus() ? claimed_gpus_ / range.gpus : claimed_ / std::max(1U, range.unit);
  return room - static_cast<std::uint32_t>(std::min<std::uint64_t>(room, claimed));
}

void Requeues::gather(double now, const mlq_cluster_snapshot_t& cluster, std::span<Job* const> jobs,
                      const SwitchedOff& switched_off) {
  capacity_.read(cluster, {}, patience_, now);
  patience_.forget_others();
  room_.assign(capacity_.now().begin(), capacity_.now().end());
  for (const Job* job : jobs) {  // what was offered to companions of others is theirs
    for (const UnitPiece& piece : job->plan.grants) {
      if (piece.node >= room_.size()) continue;
      NodeRoom& room = room_[piece.node];
      room.idle -= std::min(room.idle, piece.units * std::max(1U, job->unit_cores()));
      room.gpus.take(gpu_types_of(cluster, job->seen().gpu_type), piece.units * job->unit_gpus());
    }
  }
  for (Job* job : jobs) {
    if (!followed(*job) || job->seen().state != MLQ_JOB_RUNNING) continue;
    Member member;
    member.job = job;
    member.range = size_range(job->request(), job->asks, {}, job->asked);
    member.base = member.want = units_held(*job, member.range);
    if (job->seen().het_job_id != 0) gather_components(cluster, member);
    member.brake = switched_off(*job);
    if (member.brake.empty()) member.brake = why_not(*job, member.range, now);
    if (member.brake.empty()) {
      if (!member.het)
        member.room =
            std::max(unclaimed(*job, member.range, room_for(cluster, *job, member.range)), member.base);
      std::uint32_t waiting = first_waiting(cluster, job->seen().partition);
      if (const std::vector<Job*>* components = components_of(*job)) {
        for (const Job* other : *components)
          waiting = waiting != 0 ? waiting : first_waiting(cluster, other->seen().partition);
      }
      if (waiting != 0)
        member.brake = "job " + std::to_string(waiting) + " waits and would start in its place";
    }
    members_.push_back(std::move(member));
  }
}

/// Pools are partitions, of GPUs those of one type apart: bases and what is idle. Nodes that several of them
/// share count in each; no more than a few jobs are under way at a time, and each is asked for anew.
void Requeues::allocate(Kind kind, const mlq_cluster_snapshot_t& cluster, double now) {
  std::map<std::pair<std::string, std::string>, std::size_t> pool_of;
  std::vector<Pool> pools;
  for (Member& member : members_) {
    if (member.kind() != kind) continue;
    const SlurmView& seen = member.job->seen();
    const std::string type = kind == Kind::gpus ? seen.gpu_type : "";
    const auto [found, fresh] = pool_of.try_emplace({seen.partition, type}, pools.size());
    member.pool = found->second;
    if (fresh) pools.push_back({});
    if (pools.size() > max_pools) return;
    if (fresh) {
      const std::vector<char> allowed = capacity_.allowed(seen.partition, "");
      const std::uint32_t types = gpu_types_of(cluster, type);
      for (std::size_t n = 0; n < room_.size() && n < allowed.size(); n++) {
        if (allowed[n] == 0) continue;
        pools.back().capacity += kind == Kind::gpus ? room_[n].gpus.count(types) : room_[n].idle;
      }
    }
    pools[member.pool].capacity += member.base * member.dealt();
  }
  std::vector<std::vector<std::uint32_t>> rows;
  std::vector<JobView> views;
  std::vector<Member*> asked;
  rows.reserve(members_.size());
  for (Member& member : members_) {
    if (member.kind() != kind) continue;
    if (!member.brake.empty()) {
      const std::uint32_t own = member.base * member.dealt();
      pools[member.pool].capacity -= std::min(pools[member.pool].capacity, own);
      continue;
    }
    Job& job = *member.job;
    std::vector<std::uint32_t>& row = rows.emplace_back(pools.size(), 0);
    row[member.pool] = member.base;
    JobView& view = views.emplace_back();
    view.request.key = job.seen().job_id;
    view.request.pools = 1ULL << member.pool;
    view.request.unit = member.dealt();
    if (member.het) {
      view.request.sizes = member.het->cpus();
      view.request.min = member.het->cpus().front();
      view.request.max = member.het->cpus().back();
    } else {
      view.request.min = std::min(std::max(1U, member.range.min), member.base);
      view.request.max = std::max(std::min(member.range.max, member.room), member.base);
    }
    const double cores = static_cast<double>(member.unit()) / member.dealt();  // of one that is dealt out
    view.held = {row, std::max(0.0, now - static_cast<double>(job.seen().start)), cost_of(job)};
    view.arrival = static_cast<double>(job.seen().submit);
    view.attained = job.core_seconds(now) / cores;
    view.rate = job.speed().model();
    view.rate.work /= cores;
    view.rate.gamma *= cores;
    view.outlook = &job.prospect();
    asked.push_back(&member);
  }
  if (views.empty()) return;
  const ClusterView view{now, horizons * config_.horizon_s, pools, views, {}};
  const Allocation& allocation = (kind == Kind::gpus ? gpu_policy_ : cpu_policy_)->decide(view);
  for (std::size_t i = 0; i < asked.size(); i++) {
    if (allocation.units[i] > 0) asked[i]->want = allocation.units[i];
  }
}

/// One a cycle: those that shrink first, for the others grow on what they leave.
void Requeues::announce(double now) {
  Member* best = nullptr;
  const auto cpus = [](const Member& m) {
    return (static_cast<double>(m.want) - static_cast<double>(m.base)) * m.unit();
  };
  for (Member& member : members_) {
    RequeueState& state = member.job->requeue;
    if (state.under_way(member.job->seen().restarts)) {
      const bool still =
          (units_kept(member) > member.base) == (member.want > member.base) && member.want != member.base;
      if (state.told_at < 0 && !still)
        withdraw(*member.job, now, member.brake.empty() ? "it would not pay any more" : member.brake,
                 refused_s / 10);
      continue;
    }
    if (!member.brake.empty() || member.want == member.base) continue;
    if (best == nullptr || (cpus(member) < 0) > (cpus(*best) < 0) ||
        ((cpus(member) < 0) == (cpus(*best) < 0) && std::fabs(cpus(member)) > std::fabs(cpus(*best))))
      best = &member;
  }
  if (best != nullptr && config_.mode == MLQ_MODE_ACTIVE && under_way_ < most_at_once) {
    Job& job = *best->job;
    RequeueRecord& kept = job.requeue.kept;
    kept.done++;
    kept.at = std::floor(now);
    kept.run = job.seen().restarts;
    kept.iteration = job.curve()->last_iteration();
    set_wanted(*best);
    job.requeue.written_at = job.requeue.told_at = -1;
    job.requeue.failures = 0;
  }
  for (Member& member : members_) say(member, now);
}

}  // namespace mlq::engine
