// SPDX-License-Identifier: GPL-2.0-or-later
// A cluster on which a job is requeued at another size, as Slurm does it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/resize_bench.hpp"

/// The job that is looked at.
constexpr std::uint32_t id = 7;

struct RequeueBench : ResizeBench {
  explicit RequeueBench(const char* extra = "", std::vector<std::uint32_t> cpus = {8})
      : ResizeBench(std::move(cpus),
                    (std::string("mlq_dwell=0,mlq_resize=requeue,mlq_requeue_grace=100,") + extra).c_str()) {}

  /// Of two cores, 100 s old at the epoch; it reported until 40 s before.
  mlq_job_snapshot_t& start(const char* request = "resize=requeue,min=1,max=8") {
    mlq_job_snapshot_t& job = train(id, 2, 0, request);
    job.size.cpus = job.size.tasks = 2;
    job.size.cpus_per_task = job.size.min_nodes = job.size.max_nodes = 1;
    job.requeue = true;
    agents.clear();
    return job;
  }
  void agent(const char* phase) { agents[id] = {2, phase, "", 0, -1, R"(,"saves":true)"}; }

  /// Cycles of one second until `until`; the actions of all of them.
  const std::vector<mlq_requeue_t>& go(double until) {
    actions.clear();
    for (; at < until; at++) {
      turn(epoch + at);
      for (const mlq_decision_t& decision : decisions) saves += decision.save;
      const mlq_requeue_t* found = nullptr;
      const std::size_t count = mlq_engine_requeues(engine.get(), &found);
      for (std::size_t i = 0; i < count; i++) {
        texts.push_back(std::make_unique<std::string>(found[i].reason));
        actions.push_back(found[i]);
        actions.back().reason = texts.back()->c_str();
      }
    }
    return actions;
  }
  void done(const char* error = nullptr) {
    mlq_engine_requeue_done(engine.get(), epoch + at, &actions.back(), error);
  }
  /// As Slurm does it: another submit time, another count, not eligible for a while.
  void requeued() {
    mlq_job_snapshot_t& one = job(id);
    one.state = MLQ_JOB_PENDING;
    one.restarts++;
    one.submit_time = static_cast<std::int64_t>(epoch + at);
    one.start_time = one.end_time = 0;
    one.end_state = nullptr;
    one.rankable = true;
    one.node = MLQ_NO_NODE;
    agents.clear();
  }
  void runs_again(std::uint32_t cores) {
    mlq_job_snapshot_t& one = job(id);
    one.state = MLQ_JOB_RUNNING;
    one.rankable = false;
    one.start_time = static_cast<std::int64_t>(epoch + at);
    one.cores = one.size.cpus = one.size.tasks = cores;
    one.node = 0;
  }
  void report(double iteration, double time) {
    mlqd.add({id, job(id).submit_time, iteration, 0.1 + 1.0 / iteration, epoch + time});
  }
  const mlq_sizing_t* sizing() {
    const mlq_sizing_t* found = nullptr;
    return mlq_engine_sizings(engine.get(), &found) == 1 ? found : nullptr;
  }
  /// Until it has been told to save by a signal.
  void told() {
    ck_assert_uint_eq(go(30).size(), 1);
    ck_assert_int_eq(actions[0].kind, MLQ_REQUEUE_WARN);
    done();
  }

  std::vector<mlq_requeue_t> actions;
  double at = 0;
  int saves = 0;  ///< texts that slurmctld is to keep
};
