// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/simulation/workload.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "core/throughput/iteration_time.hpp"

namespace mlq::simulation {

namespace {

// Library distributions may differ between systems; these don't, so a seed means the same everywhere.
double uniform(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1.0p-53;
}
std::size_t index(std::mt19937_64& random, std::size_t count) {
  return std::min(count - 1, static_cast<std::size_t>(uniform(random) * static_cast<double>(count)));
}
double normal(std::mt19937_64& random) {
  return std::sqrt(-2 * std::log(1 - uniform(random))) * std::cos(2 * M_PI * uniform(random));
}
double gap(std::mt19937_64& random, const DrawOptions& options) {
  if (options.gaps == Gaps::exponential) return -options.arrival_mean * std::log(1 - uniform(random));
  // A Poisson number by counting arrivals of a unit process.
  double count = 0;
  for (double at = -std::log(1 - uniform(random)); at < options.arrival_mean;
       at -= std::log(1 - uniform(random)))
    ++count;
  return count;
}

// With its own generator, so that the same seed means the same jobs whatever the noise.
void add_noise(SimJob& job, const Trace& trace, double noise, std::uint64_t seed) {
  std::mt19937_64 random(seed * 0x9E3779B97F4A7C15ULL + job.key);
  job.reported = trace.losses;
  if (noise > 0)
    for (double& loss : job.reported) loss *= 1 + noise * normal(random);
}

void scale_to_load(std::vector<SimJob>& jobs, std::span<const Trace> traces, double load, double capacity) {
  double work = 0;
  for (const SimJob& job : jobs) work += job.rate.work * static_cast<double>(traces[job.trace].iterations());
  if (!(work > 0) || !(load > 0)) return;
  const double scale = load * capacity / work;
  for (SimJob& job : jobs) job.rate = {job.rate.alpha * scale, job.rate.work * scale, job.rate.gamma * scale};
}

}  // namespace

std::vector<SimJob> draw_jobs(std::span<const Trace> traces, const DrawOptions& options) {
  std::vector<SimJob> jobs;
  if (traces.empty() || options.sizes.empty()) return jobs;
  std::mt19937_64 random(options.seed);
  double now = 0;
  for (std::size_t i = 0; i < options.jobs; ++i) {
    SimJob job;
    job.key = i + 1;
    job.trace = index(random, traces.size());
    job.arrival = now;
    job.max_cores = options.max_cores;
    job.says_iterations = uniform(random) < options.says_iterations;
    const Trace& trace = traces[job.trace];
    job.family = trace.name;
    job.rate.work = options.sizes[index(random, options.sizes.size())];
    if (options.equal_work == EqualWork::per_job)
      job.rate.work *= 100.0 / static_cast<double>(trace.iterations());
    job.rate.alpha = options.serial * job.rate.work;
    job.rate.work -= job.rate.alpha;
    add_noise(job, trace, options.noise, options.seed);
    jobs.push_back(std::move(job));
    now += gap(random, options);
  }
  scale_to_load(jobs, traces, options.load,
                options.cluster_cores * options.arrival_mean * static_cast<double>(options.jobs));
  return jobs;
}

RateModel scaling_of(std::span<const ScalingSample> samples, double global_batch) {
  // Least time over placements, by (replicas, local batch); then, per number of replicas, the time at the
  // local batch.
  std::map<double, std::map<double, double>> best;
  for (const ScalingSample& s : samples) {
    const auto [at, fresh] = best[s.replicas].try_emplace(s.local_batch, s.seconds);
    if (!fresh) at->second = std::min(at->second, s.seconds);
  }
  IterationTime model;
  for (const auto& [replicas, by_batch] : best) {
    const double local = global_batch / replicas;
    const auto above = by_batch.lower_bound(local);
    double seconds;
    if (above == by_batch.end()) {
      seconds = by_batch.rbegin()->second * local / by_batch.rbegin()->first;
    } else if (above == by_batch.begin()) {
      continue;  // so small a part was not measured: this many replicas would idle
    } else {
      const auto below = std::prev(above);
      const double part = (local - below->first) / (above->first - below->first);
      seconds = below->second + part * (above->second - below->second);
    }
    model.observe(replicas, 20, 20 * seconds);
  }
  if (!model.known() && !best.empty()) {
    const auto& [replicas, by_batch] = *best.begin();
    model.observe(replicas, 20, 20 * by_batch.begin()->second);
  }
  return model.model();
}

std::vector<SimJob> jobs_of_workload(std::span<const WorkloadEntry> entries,
                                     std::span<const Application> applications, std::span<const Trace> traces,
                                     const DrawOptions& options) {
  std::vector<SimJob> jobs;
  std::mt19937_64 random(options.seed);
  double last = 0;
  for (const WorkloadEntry& entry : entries) {
    const auto application = std::find_if(applications.begin(), applications.end(),
                                          [&](const Application& a) { return a.name == entry.application; });
    if (application == applications.end() || application->traces.empty()) continue;
    SimJob job;
    job.key = jobs.size() + 1;
    job.family = entry.application;
    job.trace = application->traces[index(random, application->traces.size())];
    job.arrival = entry.time;
    last = std::max(last, entry.time);
    job.max_cores = options.max_cores;
    job.says_iterations = uniform(random) < options.says_iterations;
    const Trace& trace = traces[job.trace];
    const RateModel measured = scaling_of(application->scaling, entry.batch);
    const RateModel model = measured.known() ? measured : RateModel{0, 1, 0};
    const double run = application->replica_hours * 3600 / entry.replicas;
    const double scale = run * model.rate(entry.replicas) / static_cast<double>(trace.iterations());
    job.rate = {model.alpha * scale, model.work * scale, model.gamma * scale};
    add_noise(job, trace, options.noise, options.seed);
    jobs.push_back(std::move(job));
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const SimJob& a, const SimJob& b) { return a.arrival < b.arrival; });
  scale_to_load(jobs, traces, options.load, options.cluster_cores * last);
  return jobs;
}

}  // namespace mlq::simulation
