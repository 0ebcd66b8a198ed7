// SPDX-License-Identifier: GPL-2.0-or-later
// The cycle: points in, jobs in, ranks out. engine.cpp wraps it for C.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "slurm-plugin/engine/companions.hpp"
#include "slurm-plugin/engine/cycle_message.hpp"
#include "slurm-plugin/engine/families.hpp"
#include "slurm-plugin/engine/inbox.hpp"
#include "slurm-plugin/engine/job.hpp"
#include "slurm-plugin/engine/mlqd_client.hpp"
#include "slurm-plugin/engine/node_shrinks.hpp"
#include "slurm-plugin/engine/requeues.hpp"
#include "slurm-plugin/engine/sizer.hpp"
#include "slurm-plugin/engine/targets.hpp"
#include "slurm-plugin/engine/user_names.hpp"

namespace mlq::engine {

class Engine {
 public:
  Engine(std::string cluster, const mlq_config_t& config, Log log);

  void configure(const mlq_config_t& config);
  /// From any thread.
  void stop() noexcept { client_.stop(); }
  int pull(double now);
  int decide(double now, const mlq_job_snapshot_t* jobs, std::size_t count);
  int push(double now, const mlq_cycle_stats_t* stats);

  const std::vector<mlq_decision_t>& decisions() const { return decisions_; }

  /// For the next decide() alone.
  void see_cluster(const mlq_cluster_snapshot_t* cluster) { cluster_seen_ = cluster; }
  bool wants_cluster() const { return wants_cluster_; }
  bool needed() const { return companions_.any() || requeues_.any_told(); }
  std::span<const mlq_ending_t> endings() const { return endings_; }
  std::span<const mlq_sizing_t> sizings() const { return sizings_; }
  std::span<const mlq_requeue_t> requeues() const { return requeues_.actions(); }
  std::span<const mlq_node_shrink_t> node_shrinks() const { return node_shrinks_.actions(); }
  void node_shrink_done(double now, const mlq_node_shrink_t& shrink, const char* error);
  void requeue_done(double now, const mlq_requeue_t& requeue, const char* error);
  void size_done(double now, std::uint32_t job_id, std::int64_t submit, const char* error) {
    sizer_.done(job_id, submit, error, now);
  }

 private:
  struct Seen {
    const mlq_job_snapshot_t* snapshot;
    Job* job;
  };

  bool pull_pages(double now);
  bool take_page(const PointsPage& page, double now);
  void forget_store();

  void see(double now, const mlq_job_snapshot_t* jobs, std::size_t count);
  Job* entry_for(const mlq_job_snapshot_t& snapshot, double now);
  void drain(double now);
  void fit(double now);
  void expect(double now);
  void rank(bool trusted);
  void rank_state(mlq_job_state_t state, bool trusted);
  void say_dry_run();
  void resize(double now);
  void say_sizes();
  void size_pending_jobs(double now);
  void note_written(const Seen& seen, double now);
  std::string why_no_requeue(const Job& job) const;
  void learn();
  bool holding(double now) const;
  bool stale(double now) const;

  void decide_job(double now, std::size_t index, const Seen& seen);
  bool wants_site(const Seen& seen, std::uint32_t& site) const;
  bool comment_due(const Job& job, double now) const;
  void forget_gone(double now);

  std::vector<Job*> jobs_to_push(double now);
  bool push_chunk(const CycleHeader& header, std::span<Job* const> jobs, std::vector<wire::Json> orphans);
  std::vector<wire::Json> orphans(double now);

  std::string cluster_;
  mlq_config_t config_;
  Log log_;
  MlqdClient client_;
  UserNames users_;
  Families families_;
  Inbox inbox_;
  std::unordered_map<std::uint32_t, std::unique_ptr<Job>> jobs_;
  std::vector<Seen> seen_;
  std::vector<mlq_decision_t> decisions_;
  std::deque<std::string> comments_;

  std::string epoch_;
  std::uint64_t after_ = 0;
  bool families_known_ = false;
  bool caught_up_ = false;  ///< every point that mlqd had was taken
  bool pulled_ = false;     ///< in this cycle
  bool was_stale_ = false;
  bool reconciled_ = false;          ///< mlqd was asked once for jobs that Slurm no longer has
  std::optional<double> began_;      ///< time of the first decision
  std::optional<double> last_pull_;  ///< time of the last pull that came through
  double pull_ms_ = 0, decide_ms_ = 0;

  Companions companions_;
  Targets targets_;
  Requeues requeues_;
  NodeShrinks node_shrinks_;
  const mlq_cluster_snapshot_t* cluster_seen_ = nullptr;
  bool wants_cluster_ = false;
  std::span<const mlq_ending_t> endings_;
  Sizer sizer_;
  std::span<const mlq_sizing_t> sizings_;
  DecisionTime spent_;
};

}  // namespace mlq::engine
