// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm-plugin/engine/node_shrinks.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace mlq::engine {
namespace {

constexpr double heartbeat_s = 30;

std::uint64_t partition_bit(const mlq_cluster_snapshot_t& cluster, const std::string& name) {
  for (std::size_t p = 0; p < cluster.partition_count; p++) {
    if (name == cluster.partitions[p]) return 1ULL << p;
  }
  return 0;
}

/// CPUs of a base node; they are taken to be alike.
std::uint32_t node_cores(const Job& job) {
  return std::max(1U, static_cast<std::uint32_t>(job.seen().cores) / std::max(1U, job.seen().nodes));
}

/// Nodes that its min= needs.
std::uint32_t least_nodes(const Job& job) {
  const std::uint64_t least =
      std::uint64_t{std::max(1U, job.request().min_units)} * std::max(1U, job.unit_cores());
  const std::uint32_t cores = node_cores(job);
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>((least + cores - 1) / cores, 1, job.seen().nodes));
}

}  // namespace

void NodeShrinks::configure(const mlq_config_t& config) {
  config_ = config;
  PolicyOptions options;
  options.settle.horizon = config.horizon_s;
  options.settle.dwell = config.dwell_s;
  options.tail = config.tail;
  policy_ = make_policy("mlq", options);
}

bool NodeShrinks::concerns(const Job& job) {
  const mlq_request_t& request = job.request();
  return request.resize == MLQ_RESIZE_COMPANION && request.companion == 0 && !request.off &&
         job.seen().state == MLQ_JOB_RUNNING && (job.seen().nodes > 1 || job.shrink.keep > 0);
}

/// What its agent has left is taken out of the allocation, whoever asked for it.
void NodeShrinks::follow(Job& job, double now) {
  ShrinkState& state = job.shrink;
  const AgentReport* agent = job.agent();
  if (agent != nullptr && agent->left_nodes.size() > state.settled && now >= state.not_before) {
    std::vector<const char*>& names = names_.emplace_back();
    for (const std::string& name : agent->left_nodes) names.push_back(name.c_str());
    mlq_node_shrink_t action{};
    action.job_id = job.seen().job_id;
    action.restarts = job.seen().restarts;
    action.submit_time = job.seen().submit;
    action.nodes = names.data();
    action.node_count = names.size();
    action.reason = reasons_.emplace_back(state.why.empty() ? "its agent has left them" : state.why).c_str();
    actions_.push_back(action);
  }
  if (state.keep == 0) return;
  if (job.seen().nodes <= state.keep) {
    state.keep = 0;
    job.plan.units = job.plan.held;  // what it had is nothing that it has a claim to
    not_before_ = std::max(not_before_, now + pause_s);
  } else if (now - state.since > config_.lead_s + leave_s) {
    state.keep = 0;
    state.not_before = now + refused_s;
    state.why_not_yet = "its agent did not leave the nodes that it was to leave";
  } else {
    under_way_ = true;
  }
}

void NodeShrinks::done(Job& job, const char* error, double now) {
  ShrinkState& state = job.shrink;
  if (error == nullptr) {
    state.done_at = now;
    if (job.agent() != nullptr) state.settled = job.agent()->left_nodes.size();
    return;
  }
  state.not_before = now + pause_s;
  state.why_not_yet = std::string("Slurm refused: ") + error;
}

void NodeShrinks::update(double now, const mlq_cluster_snapshot_t* cluster, std::span<Job* const> jobs,
                         const SwitchedOff& switched_off) {
  actions_.clear();
  names_.clear();
  reasons_.clear();
  under_way_ = false;
  if (config_.resize != MLQ_RESIZING_ALL || config_.mode != MLQ_MODE_ACTIVE) return;
  for (Job* job : jobs) {
    if (job->seen().state != MLQ_JOB_RUNNING)
      job->shrink = ShrinkState();
    else if (concerns(*job))
      follow(*job, now);
  }
  if (!under_way_ && cluster != nullptr && now >= not_before_) choose(now, *cluster, jobs, switched_off);
  for (Job* job : jobs) {
    const ShrinkState& state = job->shrink;
    if (state.keep > 0) job->plan.change = state.why;
    if (state.keep > 0) job->plan.reason += "; " + state.why;
    if (now < state.not_before) job->plan.reason += "; no node is given back: " + state.why_not_yet;
  }
}

bool NodeShrinks::may_shrink(const Job& job, double now, const SwitchedOff& switched_off) const {
  const AgentReport* agent = job.agent();
  const double since = std::max(job.shrink.since, static_cast<double>(job.seen().start));
  return concerns(job) && job.seen().nodes > least_nodes(job) && job.request().min_units > 0 &&
         job.unit_cores() > 0 && !job.counts_gpus() && job.seen().het_job_id == 0 && agent != nullptr &&
         now - agent->received <= heartbeat_s && agent->phase == "steady" && now - since >= config_.dwell_s &&
         now >= job.shrink.not_before && job.prospect().known && job.speed().known() &&
         switched_off(job).empty();
}

/// Those of the partition of the first ML job that waits.
void NodeShrinks::choose(double now, const mlq_cluster_snapshot_t& cluster, std::span<Job* const> jobs,
                         const SwitchedOff& switched_off) {
  std::map<std::uint32_t, Job*> by_id;
  for (Job* job : jobs) by_id[job->seen().job_id] = job;
  std::vector<Job*> waiting;
  std::uint64_t bit = 0;
  for (std::size_t w = 0; w < cluster.waiting_count && waiting.size() < most_waiting; w++) {
    const auto found = by_id.find(cluster.waiting[w].job_id);
    const bool ordinary = found == by_id.end();
    if (ordinary && bit == 0) return;  // it is first, and would start on what is given back
    if (ordinary) break;
    if (bit == 0) bit = partition_bit(cluster, found->second->seen().partition);
    if ((cluster.waiting[w].partitions & bit) != 0) waiting.push_back(found->second);
  }
  if (waiting.empty()) return;
  std::vector<Member> members;
  for (Job* job : jobs) {
    if ((partition_bit(cluster, job->seen().partition) & bit) != 0 && may_shrink(*job, now, switched_off))
      members.push_back({job, job->seen().nodes, least_nodes(*job), node_cores(*job)});
  }
  std::uint64_t idle = 0;
  for (std::size_t n = 0; n < cluster.node_count; n++) {
    if ((cluster.nodes[n].partitions & bit) != 0)
      idle += std::min(cluster.nodes[n].idle, cluster.nodes[n].cpus);
  }
  if (!members.empty()) decide(now, members, waiting, idle);
}

/// The same policy as for all sizes: minima first, then to whom the next node is worth most.
void NodeShrinks::decide(double now, std::vector<Member>& members, std::vector<Job*>& waiting,
                         std::uint64_t idle) {
  Pool pool{static_cast<std::uint32_t>(std::min<std::uint64_t>(idle, UINT32_MAX / 2)), 1};
  std::vector<JobView> views;
  std::vector<std::uint32_t> held(members.size());
  const auto add = [&](Job& job, std::uint32_t unit, std::uint32_t least, std::uint32_t most) -> JobView& {
    JobView& view = views.emplace_back();
    view.request.key = job.seen().job_id;
    view.request.unit = unit;
    view.request.min = least;
    view.request.max = most;
    view.arrival = static_cast<double>(job.seen().submit);
    view.rate = job.speed().model();
    view.outlook = &job.prospect();
    return view;
  };
  for (std::size_t i = 0; i < members.size(); i++) {
    Member& member = members[i];
    pool.capacity += member.nodes * member.cores;
    held[i] = member.nodes;
    JobView& view = add(*member.job, member.cores, member.least, member.nodes);
    const double since = std::max(member.job->shrink.since, static_cast<double>(member.job->seen().start));
    view.held = {{&held[i], 1}, now - since, std::max(0.0, member.job->agent()->move_s)};
    view.attained = member.job->core_seconds(now);
  }
  for (Job* job : waiting) {
    JobView& view = add(*job, std::max(1U, static_cast<std::uint32_t>(job->seen().cores)), 1, 1);
    view.waiting = now - static_cast<double>(job->seen().submit);
  }
  const ClusterView view{now, static_cast<double>(config_.horizon_s), {&pool, 1}, views, {}};
  const Allocation& allocation = policy_->decide(view);
  std::uint32_t starts = 0;
  for (std::size_t w = 0; w < waiting.size() && starts == 0; w++) {
    if (allocation.units[members.size() + w] > 0) starts = waiting[w]->seen().job_id;
  }
  if (starts == 0) return;
  Member* most = nullptr;
  std::uint32_t keep = 0;
  for (std::size_t i = 0; i < members.size(); i++) {
    const std::uint32_t units = std::max(allocation.units[i], members[i].least);
    if (units >= members[i].nodes || (most != nullptr && members[i].nodes - units <= most->nodes - keep))
      continue;
    most = &members[i];
    keep = units;
  }
  if (most == nullptr) return;
  ShrinkState& state = most->job->shrink;
  state.keep = keep;
  state.since = now;
  state.why = "to go on with " + std::to_string(keep) + " of its " + std::to_string(most->nodes) +
              " nodes: job " + std::to_string(starts) + " could start on the others";
}

}  // namespace mlq::engine
