// SPDX-License-Identifier: GPL-2.0-or-later
// Targets: who takes part, and what the policy is asked.
#include "slurm-plugin/engine/targets.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace mlq::engine {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point began) {
  return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

std::set<std::string, std::less<>> split(std::string_view text) {
  std::set<std::string, std::less<>> names;
  while (!text.empty()) {
    const std::size_t plus = text.find('+');
    names.emplace(text.substr(0, plus));
    text = plus == std::string_view::npos ? std::string_view() : text.substr(plus + 1);
  }
  return names;
}

}  // namespace

void Targets::configure(const mlq_config_t& config) {
  config_ = config;
  partitions_ = split(config.resize_partitions);
  accounts_ = split(config.resize_accounts);
  PolicyOptions options;
  options.settle.horizon = config.horizon_s;
  options.settle.dwell = config.dwell_s;
  options.tail = config.tail;
  cpu_policy_ = make_policy("mlq", options);
  gpu_policy_ = make_policy("mlq", options);
}

bool Targets::concerns(const Job& job) const {
  return job.request().resize == MLQ_RESIZE_COMPANION && job.request().companion == 0 &&
         job.seen().state == MLQ_JOB_RUNNING;
}

/// Which switch keeps the job from being resized, "" when none does.
std::string Targets::switched_off(const Job& job) const {
  if (config_.resize == MLQ_RESIZING_OFF) return "mlq_resize=off";
  if (!partitions_.empty() && !partitions_.contains(job.seen().partition))
    return "partition " + job.seen().partition + " is not in mlq_resize_partitions";
  if (!accounts_.empty() && !accounts_.contains(job.seen().account))
    return "account " + job.seen().account + " is not in mlq_resize_accounts";
  return "";
}

/// Why the job gets no size, "" when it does.
std::string Targets::why_not(const Job& job) const {
  const bool nodes = job.request().unit == MLQ_UNIT_NODE;
  if (job.counts_gpus() && job.seen().gpus == 0) return "its unit is a GPU, and it has none of its own";
  if (!job.counts_gpus() && !nodes && job.seen().gpus > 0)
    return "it has GPUs, and units of cores would have none: unit=gpu or unit=node";
  if (nodes && job.seen().gpus % job.seen().nodes != 0)
    return "its unit is a node, and its nodes have different numbers of GPUs";
  if (job.seen().mixed_gpus) return "it asks for GPUs of more than one type";
  if (job.base_units() == 0) return "its own cores are less than a unit";
  if (job.agent() == nullptr && job.seen().het_offset > 0)
    return "no agent: of a heterogeneous job mlq run is the first component's";
  if (job.agent() == nullptr)
    return "no agent: the batch script does not run mlq run, or it has not spoken yet";
  return "";
}

/// What holds its growth back, "" when nothing does. Takes note of a refusal.
std::string Targets::why_no_growth(Job& job, double now) const {
  const AgentReport& agent = *job.agent();
  Plan& plan = job.plan;
  const auto brake = [&](const std::string& why) {
    const double pause = std::min(first_refusal_s * std::exp2(std::min(plan.refusals, 10U)), last_refusal_s);
    plan.refusals++;
    plan.no_growth_until = now + pause;
    plan.no_growth_why = why;
    plan.offered_at = -1;
  };
  if (plan.held > plan.held_before) plan.refusals = 0;
  if (agent.refused_at > plan.refusal_taken) {
    const bool old = now - agent.refused_at > last_refusal_s;
    plan.refusal_taken = agent.refused_at;
    if (!old) brake("refused: " + agent.refused);
  } else if (plan.offered_at >= 0 && now - plan.offered_at > taken_up_s && config_.mode == MLQ_MODE_ACTIVE) {
    brake("its agent did not take up what was offered");
  }
  if (now - agent.received > heartbeat_s)
    return "its agent was not heard for " + std::to_string(std::lround(now - agent.received)) + " s";
  if (agent.phase == "ending") return "it is ending";
  if (now < plan.no_growth_until)
    return plan.no_growth_why + ", tried again in " +
           std::to_string(std::lround(plan.no_growth_until - now)) + " s";
  return "";
}

std::uint32_t Targets::units_of(const Member& member, std::size_t piece) const {
  return member.job->units_of(*lent_[piece].companion);
}

PieceSize Targets::size_of(const Member& member) const {
  return {member.unit, member.job->request().unit == MLQ_UNIT_NODE, member.job->unit_gpus(),
          member.gpu_types};
}

std::uint32_t Targets::most_units(const Member& member) const {
  const mlq_request_t& request = member.job->request();
  std::uint32_t most = request.max_units > 0 ? request.max_units : MLQ_UNITS_MAX;
  if (request.batch > 0) most = std::min<std::uint64_t>(most, request.batch);
  return std::max(most, member.base);
}

/// A job that has companions though it may have none: they go as they would for any other reason.
void Targets::send_home(Job& job, Companions& companions, double now, const std::string& why) const {
  const std::vector<Companion*> pieces = companions.pieces_of(job.seen().job_id);
  Plan& plan = job.plan;
  const std::uint32_t base = std::max(1U, job.base_units());
  if (plan.units != base) plan.since = now;
  plan.base = plan.units = pieces.empty() ? 0 : base;
  plan.held = base;
  plan.grants.clear();
  plan.leave.clear();
  plan.reason = why;
  for (Companion* piece : pieces) {
    plan.held += job.units_of(*piece);
    plan.leave.push_back(piece->job_id);
    companions.must_leave(*piece, now, why);
  }
}

void Targets::gather(double now, std::span<Job* const> jobs, Companions& companions) {
  members_.clear();
  lent_.clear();
  for (Job* job : jobs) {
    if (!concerns(*job)) {
      if (job->request().resize != MLQ_RESIZE_REQUEUE) job->plan = Plan();  // theirs is made by Requeues
      continue;
    }
    if (const std::string why = switched_off(*job); !why.empty()) {
      send_home(*job, companions, now, why);
      continue;
    }
    if (const std::string why = why_not(*job); !why.empty()) {  // what it has it keeps
      job->plan.units = 0;
      job->plan.grants.clear();
      job->plan.leave.clear();
      job->plan.reason = why;
      continue;
    }
    Member member;
    member.job = job;
    member.kind = job->counts_gpus() ? Kind::gpus : Kind::cpus;
    member.unit = job->unit_cores();
    member.base = job->base_units();
    for (Companion* piece : companions.pieces_of(job->seen().job_id)) {
      member.pieces.push_back(lent_.size());
      lent_.push_back({piece, members_.size(), 0, job->counts_gpus()});
    }
    members_.push_back(std::move(member));
  }
  leaving_.assign(lent_.size(), 0);
}

/// What it holds, and, at first sight, that this is what it is to have.
void Targets::adopt(Member& member, double now) {
  Plan& plan = member.job->plan;
  std::uint32_t held = member.base;
  for (const std::size_t piece : member.pieces) held += units_of(member, piece);
  plan.base = member.base;
  plan.held_before = plan.held;
  plan.held = held;
  member.brake = why_no_growth(*member.job, now);
  if (plan.units >= member.base && plan.units > 0) return;
  plan.units = held;
  plan.since = member.pieces.empty() ? -1 : now;
}

/// Marks the newest pieces as leaving while no fewer than `units` are kept; those that a waiting job wants go
/// in any case.
void Targets::choose_leaving(Member& member, std::uint32_t units) {
  member.kept = 0;
  for (const std::size_t piece : member.pieces) {
    leaving_[piece] = lent_[piece].wanted_by != 0 ? 1 : 0;
    if (leaving_[piece] != 0) {
      member.needed_by = lent_[piece].wanted_by;
    } else {
      member.kept += units_of(member, piece);
    }
  }
  for (const std::size_t piece : member.pieces) {
    const std::uint32_t less = units_of(member, piece);
    if (leaving_[piece] != 0 || member.base + member.kept < units + less) continue;
    leaving_[piece] = 1;
    member.kept -= less;
  }
}

/// What of the cluster each of them could use, and the pools of it.
void Targets::read(const mlq_cluster_snapshot_t& cluster, double now) {
  std::set<std::string_view> partitions;
  for (Member& member : members_) {
    member.gpu_types = gpu_types_of(cluster, member.job->seen().gpu_type);
    partitions.insert(member.job->seen().partition);
    for (const std::size_t piece : member.pieces) lent_[piece].gpu_types = member.gpu_types;
  }
  capacity_.read(cluster, lent_, patience_, now);
  for (Member& member : members_) {
    member.nodes = capacity_.allowed(member.job->seen().partition, member.job->seen().features.c_str());
    if (member.kind != Kind::gpus || !member.brake.empty() || member.nodes.empty()) continue;
    std::uint32_t held = member.base;
    for (const std::size_t piece : member.pieces) held += units_of(member, piece);
    const std::uint32_t most = most_units(member);
    if (most > held) capacity_.keep_beside_gpus(most - held, size_of(member), member.nodes);
  }
  capacity_.make_pools(lent_, max_pools - std::min(partitions.size(), max_pools - 1));
}

/// What is idle once those that leave for others than a waiting job have left. Cores that were beside GPUs
/// stay beside them.
std::vector<NodeRoom> Targets::room_with_leaving() const {
  std::vector<NodeRoom> room(capacity_.later().begin(), capacity_.later().end());
  for (std::size_t i = 0; i < lent_.size(); i++) {
    const LentCompanion& lent = lent_[i];
    if (leaving_[i] == 0 || lent.wanted_by != 0 || lent.companion->node >= room.size()) continue;
    NodeRoom& node = room[lent.companion->node];
    node.idle += static_cast<std::uint32_t>(lent.companion->cpus);
    node.gpus.add(capacity_.gpus_of(lent));
    if (lent.counts_gpus) node.kept += static_cast<std::uint32_t>(lent.companion->cpus);
  }
  return room;
}

/// Puts what is underway onto nodes again: what was promised stays promised while there is room for it.
void Targets::claim_again() {
  for (Member& member : members_) choose_leaving(member, member.job->plan.units);
  room_ = room_with_leaving();
  for (Member& member : members_) {
    const std::size_t width = capacity_.pools(member.kind).size();
    const auto pool_of = [&](std::uint32_t node) { return capacity_.pool_of(member.kind, node); };
    member.row.assign(width, 0);
    for (const std::size_t piece : member.pieces) {
      const std::uint32_t node = lent_[piece].companion->node;
      if (leaving_[piece] == 0 && node < room_.size() && pool_of(node) < width)
        member.row[pool_of(node)] += units_of(member, piece);
    }
    for (std::size_t n = 0; n < member.nodes.size(); n++) {
      const auto node = static_cast<std::uint32_t>(n);
      if (member.nodes[n] != 0 && pool_of(node) < width) member.pools |= 1ULL << pool_of(node);
    }
    const std::uint32_t kept = member.base + member.kept;
    const bool growing = member.needed_by == 0 && member.brake.empty();
    const std::uint32_t wanted = growing ? member.job->plan.units : kept;
    member.claim = 0;
    if (wanted <= kept || member.nodes.empty()) continue;
    for (const UnitPiece& piece : pack(wanted - kept, size_of(member), room_, member.nodes)) {
      member.claim += piece.units;
      if (pool_of(piece.node) < width) member.row[pool_of(piece.node)] += piece.units;
    }
  }
}

/// Core-seconds of an iteration of a job whose speed was not seen yet: such that its cores are worth as much
/// as those of the jobs that are short of their target are on average. Else it would have to show itself on
/// its base alone.
double Targets::work_until_seen(Kind kind) const {
  double urgency = 0;
  std::size_t seen = 0;
  for (const Member& member : members_) {
    if (member.kind != kind) continue;
    const double left = member.job->prospect().to_target * member.job->speed().model().work;
    if (!(left > 0) || !std::isfinite(left)) continue;
    urgency += 1 / left;
    seen++;
  }
  const double iterations = fresh_outlook({}).to_target;
  return seen > 0 ? static_cast<double>(seen) / (urgency * iterations) : 1;
}

/// What it is taken to do with cores, or with GPUs where these are dealt out. Who says nothing for long keeps
/// what nobody else wants.
RateModel Targets::rate_of(const Member& member, double work_until_seen, double now) const {
  const Job& job = *member.job;
  const double ran = now - static_cast<double>(job.seen().start);
  RateModel rate =
      job.speed().known() || ran > show_itself_s ? job.speed().model() : RateModel{0, work_until_seen, 0};
  if (member.kind == Kind::gpus) {  // t(g) with g * unit cores
    rate.work /= member.unit;
    rate.gamma *= member.unit;
  }
  return rate;
}

/// The job as the policy sees it, but for its pools. Of GPUs a unit is one.
JobView Targets::view_of(const Member& member, double work, double now) const {
  const Job& job = *member.job;
  const AgentReport& agent = *job.agent();
  const std::uint32_t held = member.base + member.kept + member.claim;
  JobView view;
  view.request.key = job.seen().job_id;
  view.request.unit = member.kind == Kind::gpus ? 1 : member.unit;
  view.request.min = member.base;
  view.request.max = member.brake.empty() ? std::max(most_units(member), held) : held;
  view.held = {
      {}, job.plan.since < 0 ? 1e9 : now - job.plan.since, agent.move_s >= 0 ? agent.move_s : move_prior_s};
  view.arrival = static_cast<double>(job.seen().submit);
  view.attained = job.core_seconds(now) / (member.kind == Kind::gpus ? member.unit : 1);
  view.rate = rate_of(member, work, now);
  view.outlook = &job.prospect();
  return view;
}

/// The bases are no pools' business, but the worth of a unit depends on them: those of one partition make a
/// pool of their own, just large enough, that is dealt out first.
void Targets::allocate(Kind kind, double now) {
  std::map<std::string, std::size_t> base_pool;
  std::vector<Member*> members;
  for (Member& member : members_) {
    if (member.kind != kind) continue;
    members.push_back(&member);
    base_pool.try_emplace(member.job->seen().partition, base_pool.size());
  }
  if (members.empty()) return;
  std::vector<Pool> pools(base_pool.size());
  pools.insert(pools.end(), capacity_.pools(kind).begin(), capacity_.pools(kind).end());
  std::vector<std::vector<std::uint32_t>> rows;
  std::vector<std::uint32_t> held(pools.size(), 0);
  std::vector<JobView> views;
  rows.reserve(members.size());
  views.reserve(members.size());
  const double work = work_until_seen(kind);
  for (const Member* member : members) {
    JobView& view = views.emplace_back(view_of(*member, work, now));
    const std::size_t own = base_pool.at(member->job->seen().partition);
    pools[own].capacity += member->base * view.request.unit;
    std::vector<std::uint32_t> row(base_pool.size(), 0);
    row[own] = member->base;
    row.insert(row.end(), member->row.begin(), member->row.end());
    for (std::size_t p = 0; p < row.size(); p++) held[p] += row[p] * view.request.unit;
    rows.push_back(std::move(row));
    view.request.pools = 1ULL << own | member->pools << base_pool.size();
    view.held.by_pool = rows.back();
  }
  // what one counts as useful to it may be less than what another has been promised there
  for (std::size_t p = 0; p < pools.size(); p++) pools[p].capacity = std::max(pools[p].capacity, held[p]);
  Policy& policy = kind == Kind::gpus ? *gpu_policy_ : *cpu_policy_;
  const ClusterView view{now, static_cast<double>(config_.horizon_s), pools, views, {}};
  const Allocation& allocation = policy.decide(view);
  for (std::size_t i = 0; i < members.size(); i++)
    members[i]->want = std::max(allocation.units[i], members[i]->base);
}

void Targets::update(double now, const mlq_cluster_snapshot_t* cluster, std::span<Job* const> jobs,
                     Companions& companions, DecisionTime& spent) {
  gather(now, jobs, companions);
  for (Member& member : members_) adopt(member, now);
  if (cluster == nullptr) {
    for (Member& member : members_) {
      Plan& plan = member.job->plan;
      plan.grants.clear();
      plan.reason = std::to_string(plan.units) + (plan.units == 1 ? " unit, as" : " units, as") +
                    " before: what the cluster has idle is not known";
    }
    return;
  }
  const auto began = Clock::now();
  read(*cluster, now);
  claim_again();
  const double before = milliseconds_since(began);
  const auto dealing = Clock::now();
  for (const Kind kind : {Kind::cpus, Kind::gpus}) allocate(kind, now);
  spent.allocate = milliseconds_since(dealing);
  const auto again = Clock::now();
  take_wishes();
  offer(now, companions);
  spent.pack = before + milliseconds_since(again);
}

}  // namespace mlq::engine
