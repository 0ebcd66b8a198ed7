// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/simulation/simulator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>

#include "core/simulation/running_job.hpp"

namespace mlq::simulation {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

class Cluster {
 public:
  Cluster(const SimConfig& config, std::span<const SimJob> jobs, std::span<const Trace> traces,
          Policy& policy, const Hooks& hooks)
      : config_(config), jobs_(jobs), traces_(traces), policy_(policy), hooks_(hooks), random_(config.seed) {
    result_.jobs.resize(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      result_.jobs[i].arrival = jobs[i].arrival;
      result_.jobs[i].alone = alone(jobs[i]);
    }
    next_failure_ = draw_failure(0);
  }

  RunResult run();

 private:
  double alone(const SimJob& job) const;
  double draw_failure(double now);
  double next_event() const;
  void advance(double to);
  void sample(double seconds);
  void arrive();
  void remove_ended();
  void fail_node();
  void repair_nodes();
  void decide();
  double expected_iterations(const SimJob& job) const;

  SimConfig config_;
  std::span<const SimJob> jobs_;
  std::span<const Trace> traces_;
  Policy& policy_;
  const Hooks& hooks_;
  std::mt19937_64 random_;
  double now_ = 0, next_decision_ = 0, next_failure_ = never;
  std::size_t arrived_ = 0, ended_ = 0;
  std::vector<std::unique_ptr<RunningJob>> active_;
  struct Outage {
    double until;
    std::size_t pool;
    std::uint32_t cores;
  };
  std::vector<Outage> outages_;
  struct Family {
    double iterations = 0;
    unsigned runs = 0;
  };
  std::map<std::string, Family> families_;
  std::vector<JobView> views_;
  std::vector<std::pair<double, double>> by_loss_;  ///< loss, cores
  RunResult result_;
};

double Cluster::alone(const SimJob& job) const {
  double cores = 0, speed_cores = 0;
  std::vector<Pool> fastest(config_.pools);
  std::sort(fastest.begin(), fastest.end(), [](const Pool& a, const Pool& b) { return a.speed > b.speed; });
  const double most = std::min<double>(job.max_cores, job.rate.useful_cores());
  for (const Pool& pool : fastest) {
    const double taken = std::min<double>(pool.capacity, most - cores);
    cores += taken;
    speed_cores += taken * pool.speed;
  }
  const double rate = job.rate.rate(speed_cores);
  return rate > 0 ? static_cast<double>(traces_[job.trace].iterations()) / rate : 0;
}

double Cluster::draw_failure(double now) {
  if (!(config_.failures > 0)) return never;
  const double uniform = static_cast<double>(random_() >> 11) * 0x1.0p-53;
  return now - config_.failures * std::log(1 - uniform);
}

double Cluster::next_event() const {
  double next = std::min(next_decision_, next_failure_);
  if (arrived_ < jobs_.size()) next = std::min(next, jobs_[arrived_].arrival);
  for (const auto& job : active_) next = std::min(next, job->end_time(now_));
  for (const Outage& outage : outages_) next = std::min(next, outage.until);
  // Nothing is there to decide upon: wait for the next job.
  if (active_.empty() && arrived_ < jobs_.size()) next = jobs_[arrived_].arrival;
  return std::max(next, now_);
}

// One stretch of constant allocations; losses as at its start.
void Cluster::sample(double seconds) {
  if (active_.empty() || !(seconds > 0)) return;
  by_loss_.clear();
  Sample sample{now_, seconds, 0, static_cast<double>(active_.size()), {}};
  for (const auto& job : active_) {
    by_loss_.emplace_back(1 - job->fraction(), job->cores());
    sample.norm_loss += by_loss_.back().first / sample.jobs;
    result_.held_core_seconds += job->cores() * seconds;
  }
  std::sort(by_loss_.rbegin(), by_loss_.rend());
  // Where a quarter ends inside a job, the job counts in part.
  const std::array<double, 3> group_end{0.25 * sample.jobs, 0.5 * sample.jobs, sample.jobs};
  for (std::size_t i = 0; i < by_loss_.size(); ++i) {
    double from = static_cast<double>(i);
    for (std::size_t g = 0; g < group_end.size(); ++g) {
      const double to = std::clamp(group_end[g], from, static_cast<double>(i) + 1);
      sample.cores[g] += (to - from) * by_loss_[i].second;
      from = to;
    }
  }
  result_.samples.push_back(sample);
}

void Cluster::advance(double to) {
  sample(to - now_);
  for (const Pool& pool : config_.pools) result_.capacity_core_seconds += pool.capacity * (to - now_);
  for (const auto& job : active_) job->advance(now_, to, result_.jobs[job->index()]);
  now_ = to;
}

void Cluster::arrive() {
  while (arrived_ < jobs_.size() && jobs_[arrived_].arrival <= now_) {
    const SimJob& job = jobs_[arrived_];
    active_.push_back(std::make_unique<RunningJob>(job, traces_[job.trace], arrived_, config_.pools.size(),
                                                   policy_.reads_curves()));
    ++arrived_;
  }
}

void Cluster::remove_ended() {
  const auto first =
      std::stable_partition(active_.begin(), active_.end(), [](const auto& job) { return !job->ended(); });
  for (auto job = first; job != active_.end(); ++job) {
    result_.jobs[(*job)->index()].finish = now_;
    Family& family = families_[(*job)->job().family];
    family.iterations +=
        (static_cast<double>(traces_[(*job)->job().trace].iterations()) - family.iterations) / ++family.runs;
    ++ended_;
  }
  active_.erase(first, active_.end());
  if (hooks_.progress) hooks_.progress(static_cast<double>(ended_) / static_cast<double>(jobs_.size()));
}

// A node goes away and takes one job's current iteration with it, a job being hit as often as it holds cores.
void Cluster::fail_node() {
  double held = 0;
  for (const auto& job : active_) held += job->cores();
  double drawn = static_cast<double>(random_() >> 11) * 0x1.0p-53 * held;
  for (const auto& job : active_) {
    drawn -= job->cores();
    if (drawn >= 0 || !job->runs()) continue;
    job->fail(now_, config_.move_cost);
    break;
  }
  const std::size_t pool = random_() % config_.pools.size();
  const std::uint32_t lost = std::min(config_.node_cores, config_.pools[pool].capacity / 2);
  config_.pools[pool].capacity -= lost;
  outages_.push_back({now_ + config_.repair, pool, lost});
  next_failure_ = draw_failure(now_);
}

void Cluster::repair_nodes() {
  std::erase_if(outages_, [&](const Outage& outage) {
    if (outage.until > now_) return false;
    config_.pools[outage.pool].capacity += outage.cores;
    return true;
  });
}

double Cluster::expected_iterations(const SimJob& job) const {
  if (!config_.learn_families) return 0;
  const auto family = families_.find(job.family);
  return family == families_.end() ? 0 : family->second.iterations;
}

void Cluster::decide() {
  views_.clear();
  for (const auto& job : active_) views_.push_back(job->view(now_, config_, expected_iterations(job->job())));
  const ClusterView view{now_, config_.interval, config_.pools, views_, {}};
  const double before = hooks_.clock ? hooks_.clock() : 0;
  const Allocation& allocation = policy_.decide(view);
  if (hooks_.clock) result_.decision_seconds.push_back(hooks_.clock() - before);
  const std::size_t width = config_.pools.size();
  for (std::size_t i = 0; i < active_.size(); ++i)
    active_[i]->resize(allocation.row(i, width), config_.pools, now_, config_.move_cost,
                       result_.jobs[active_[i]->index()]);
  next_decision_ = now_ + config_.interval;
}

RunResult Cluster::run() {
  while (ended_ < jobs_.size() && now_ < config_.end_after) {
    advance(std::min(next_event(), config_.end_after));
    const std::size_t before = arrived_ + ended_ + outages_.size();
    remove_ended();
    arrive();
    repair_nodes();
    if (next_failure_ <= now_) fail_node();
    if (before != arrived_ + ended_ + outages_.size() || next_decision_ <= now_) decide();
  }
  for (const auto& job : active_) {
    JobResult& left = result_.jobs[job->index()];
    left.finish = now_;
    for (double& time : left.time_to)
      if (time == 0) time = now_ - left.arrival;
  }
  return std::move(result_);
}

}  // namespace

RunResult simulate(const SimConfig& config, std::span<const SimJob> jobs, std::span<const Trace> traces,
                   Policy& policy, const Hooks& hooks) {
  if (config.pools.empty() || jobs.empty()) return {};
  return Cluster(config, jobs, traces, policy, hooks).run();
}

}  // namespace mlq::simulation
