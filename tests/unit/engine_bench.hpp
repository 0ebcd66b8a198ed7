// SPDX-License-Identifier: GPL-2.0-or-later
// A cluster of a test: an engine, a fake mlqd, and the jobs as slurmctld would show them.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "slurm-plugin/engine/admin_comment.hpp"
#include "slurm-plugin/engine/engine.h"
#include "tests/unit/fake_mlqd.hpp"
#include "tests/unit/test_engine.hpp"

constexpr double epoch = 1790000000;
inline std::vector<std::string> lines;

inline void keep_line(mlq_log_level_t, const char* line) {
  lines.emplace_back(line);
}

inline std::size_t said(const char* part) {
  std::size_t count = 0;
  for (const std::string& line : lines) count += line.find(part) != std::string::npos;
  return count;
}

struct CloseEngine {
  void operator()(mlq_engine_t* engine) const { mlq_engine_destroy(engine); }
};

/// A cluster of a test: an engine, a fake mlqd, and the jobs as slurmctld would show them.
struct Bench {
  explicit Bench(const char* extra = "") {
    lines.clear();
    // a busy machine may keep the fake mlqd waiting; tests of one that hangs ask for less
    mlq_config_parse(("mlq_interval=1,mlq_timeout=10000,mlq_url=" + mlqd.url() + "," + extra).c_str(),
                     &config, keep_line);
    restart();
  }

  void restart() { engine.reset(mlq_engine_create("c", &config, keep_line)); }

  mlq_job_snapshot_t& add(std::uint32_t id, mlq_job_state_t state, std::uint32_t cores,
                          const char* request = "") {
    mlq_job_snapshot_t job{};
    job.job_id = id;
    job.user_id = 1000 + id;
    job.submit_time = static_cast<std::int64_t>(epoch) - 1000;
    job.state = state;
    job.start_time = state == MLQ_JOB_PENDING ? 0 : static_cast<std::int64_t>(epoch) - 100;
    job.cores = cores;
    job.nodes = 1;
    job.rankable = state == MLQ_JOB_PENDING;
    job.user = "user";
    job.name = "train";
    job.request = request;
    jobs.push_back(job);
    return jobs.back();
  }

  /// A loss that falls as 1/k, an iteration a second from 100 s before the epoch.
  void report_falling(std::uint32_t id, int count, double scale = 1, std::int64_t submit = 0) {
    for (int k = 1; k <= count; k++) {
      mlqd.add({id, submit != 0 ? submit : static_cast<std::int64_t>(epoch) - 1000, static_cast<double>(k),
                scale * (0.1 + 1.0 / k), epoch - 100 + k});
    }
  }

  /// One cycle; applies site factors and comments as the shim would.
  void cycle(double now) {
    const mlq_decision_t* made = nullptr;
    std::size_t count = 0;
    mlq_cycle_stats_t stats{};
    pull_rc = mlq_engine_pull(engine.get(), now);
    decide_rc = mlq_engine_decide(engine.get(), now, jobs.data(), jobs.size(), &made, &count);
    decisions.assign(made, made + count);
    for (const mlq_decision_t& decision : decisions) {
      ck_assert_uint_eq(jobs[decision.index].job_id, decision.job_id);
      if (decision.set_site_factor) jobs[decision.index].site_factor = decision.site_factor;
      if (decision.admin_comment == nullptr) continue;
      texts.push_back(std::make_unique<std::string>(decision.admin_comment));
      jobs[decision.index].admin_comment = texts.back()->c_str();
    }
    push_rc = mlq_engine_push(engine.get(), now, &stats);
  }

  mlq_job_snapshot_t& job(std::uint32_t id) {
    for (mlq_job_snapshot_t& job : jobs) {
      if (job.job_id == id) return job;
    }
    ck_abort_msg("no job %u", id);
  }

  mlq::engine::CommentFields comment(std::uint32_t id) {
    const char* text = job(id).admin_comment;
    const auto fields = mlq::engine::read_comment(text == nullptr ? "" : text);
    ck_assert_msg(fields.has_value(), "job %u has no comment of ours", id);
    return *fields;
  }

  FakeMlqd mlqd;
  mlq_config_t config{};
  std::unique_ptr<mlq_engine_t, CloseEngine> engine;
  std::vector<mlq_job_snapshot_t> jobs;
  std::vector<mlq_decision_t> decisions;
  std::vector<std::unique_ptr<std::string>> texts;
  int pull_rc = 0, decide_rc = 0, push_rc = 0;
};
