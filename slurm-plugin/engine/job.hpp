// SPDX-License-Identifier: GPL-2.0-or-later
// One ML job: what was asked, what was reported, what is predicted of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/allocation/outlook.hpp"
#include "core/quality/curve.hpp"
#include "core/quality/family_prior.hpp"
#include "core/request/quality_request.h"
#include "core/throughput/iteration_time.hpp"
#include "slurm-plugin/engine/admin_comment.hpp"
#include "slurm-plugin/engine/engine.h"
#include "slurm-plugin/engine/gain_meter.hpp"
#include "slurm-plugin/engine/requeue_state.hpp"
#include "slurm-plugin/engine/resizing.hpp"
#include "slurm-plugin/engine/size_history.hpp"

namespace mlq::engine {

enum class Source : std::uint8_t { curve, family, optimistic };
const char* to_string(Source) noexcept;

/// A snapshot that owns its strings. Times are seconds since the epoch, 0 = not yet.
struct SlurmView {
  std::uint32_t job_id = 0, user_id = 0, restarts = 0;
  std::uint32_t het_job_id = 0, het_offset = 0;  ///< leader and number of a component; 0: no component
  std::uint32_t array_job_id = 0, array_task_id = MLQ_NO_TASK;  ///< as in the snapshot
  std::int64_t submit = 0, start = 0, end = 0;
  std::int64_t suspended = 0;  ///< seconds since the start
  mlq_job_state_t state = MLQ_JOB_PENDING;
  double cores = 1;
  std::uint32_t nodes = 1;
  std::string user, account, partition, name, end_state, request;
  std::uint32_t gpus = 0;   ///< of the base
  bool mixed_gpus = false;  ///< it asks for several types
  std::string gpu_type;     ///< that it asks for; "": none in particular
  std::string features;     ///< that its nodes must have
  std::string not_ranked;   ///< why not, though pending; empty when it is rankable
};

/// Expected gain of a job over the horizon on its cores, and where the expectation comes from.
struct Outlook {
  Source source = Source::optimistic;
  double gain = 0;   ///< normalised, in [0, 1]
  double ahead = 0;  ///< iterations within the horizon, with a curve
  unsigned family_runs = 0;
};

/// Place among the jobs it competes with: pending ones with pending ones, running ones with running ones.
struct Standing {
  double gain_per_core = 0;
  double score = 0;
  std::uint32_t rank = 0;    ///< from 1; 0 = not ranked
  std::uint32_t ranked = 0;  ///< how many were
  std::uint32_t site_factor = 0;
};

class Job {
 public:
  /// `seen` is the first sight of the job; its AdminComment gives back what an earlier slurmctld had counted.
  Job(const mlq_job_snapshot_t& seen, const std::string& user, double now);

  /// Takes what slurmctld says now.
  void see(const mlq_job_snapshot_t& snapshot, const std::string& user, double now);

  /// Takes points in the order of their coming.
  void take(const std::vector<LossPoint>& points);
  bool wants_fit() const { return unfitted_; }
  void refit();

  /// `family` may be null. After refit().
  Outlook outlook(double horizon_s, const FamilyPrior* family) const;

  /// Keeps the account of predicted and realised gain.
  void measure(const Outlook& outlook, double horizon_s, double now);

  /// Core-seconds used until `now`, earlier runs of a requeued job and companions included.
  double core_seconds(double now) const;
  double base_core_seconds(double now) const;  ///< of this run, without companions
  double shrunk_core_seconds() const { return shrunk_core_s_; }
  double earlier_core_seconds() const { return core_seconds_before_; }

  /// Takes what its agent said last.
  void hear(const AgentReport& report);
  /// Of this run; null when it was not heard.
  const AgentReport* agent() const;

  /// Iteration of the first report of this run; < 0: none yet.
  double first_of_run() const { return first_of_run_; }
  /// Its run is over, for it was requeued just now.
  void ends_now(double now);

  /// CPUs of a unit of its request, of a GPU those beside it in its base; 0: its base has no GPU.
  std::uint32_t unit_cores() const;
  /// GPUs of a unit; of a node as many as its base has on each.
  std::uint32_t unit_gpus() const;
  bool counts_gpus() const { return request_.unit == MLQ_UNIT_GPU; }
  /// Units of its base; 0: less than one.
  std::uint32_t base_units() const;
  /// Units of a companion, >= 1.
  std::uint32_t units_of(const Companion& companion) const;
  /// What is expected of it by who deals out cores; made when it was fitted last.
  const mlq::Outlook& prospect() const { return prospect_; }

  void note_rank(std::uint32_t rank);
  CommentFields comment(double now) const;

  /// What this run teaches its family: once, and only of a run that Slurm calls COMPLETED.
  std::optional<RunSummary> summary();

  const SlurmView& seen() const { return seen_; }
  const mlq_request_t& request() const { return request_; }
  const std::string& request_error() const { return request_error_; }
  const std::string& family() const { return family_; }
  const LossCurve* curve() const { return curve_ ? &*curve_ : nullptr; }
  const IterationTime& speed() const { return speed_; }
  /// Its own, those of its companions that run, and those of the other components that train with it.
  double cores_held() const { return seen_.cores + companions.live_cores + other_components(); }
  /// Cores of the other components of a heterogeneous job with resize=requeue: reports are of all of them.
  double other_components() const { return request_.resize == MLQ_RESIZE_REQUEUE ? other_components_ : 0; }
  bool ended() const { return seen_.state == MLQ_JOB_ENDED; }
  bool ever_ran() const { return curve_ || core_seconds_before_ > 0 || seen_.start > 0; }
  /// Site factor that an earlier slurmctld or mode set, as AdminComment tells.
  std::uint32_t restored_site() const { return restored_ ? restored_->site : 0; }

  /// What companions used. Those that ended are counted once, also over a restart of slurmctld.
  struct CompanionUse {
    unsigned live = 0, ended = 0;
    double live_cores = 0, live_core_s = 0;
    double ended_core_s = 0;
    double newest_end = 0;     ///< of those that are counted
    double counted_until = 0;  ///< what ended until then an earlier slurmctld counted
    double core_seconds() const { return live_core_s + ended_core_s; }
  };

  // Of the last cycle, kept by the engine.
  CompanionUse companions;
  Plan plan;
  RequeueState requeue;
  ShrinkState shrink;
  double shrunk_saved = 0;           ///< of shrunk_core_seconds(): what slurmctld was asked to save
  mlq_size_request_t asks{};         ///< as Slurm has it
  bool requeueable = false;          ///< Slurm may requeue it
  std::uint32_t node = MLQ_NO_NODE;  ///< its first one
  bool others_sized = false;         ///< of other_components(): in earlier runs they may have been others
  std::string size_reason;           ///< of a pending job with a range: its size, or why it is not chosen
  std::uint32_t asked = 0;  ///< units that it asked for before its size was chosen; 0: it asks for its own
  std::uint32_t asked_saved = 0;  ///< of asked: what AdminComment says
  Outlook expected;
  Standing standing;
  bool in_snapshot = true;
  std::uint32_t dry_run_site = 0;  ///< what was said that would be set
  double ended_seen = -1;          ///< when the end was seen first; < 0 never
  double drained_at = -1;          ///< when points came last
  double commented_at = -1;        ///< when AdminComment was written last
  double fitted_at = -1;           ///< when it was fitted last
  bool site_owned = false;         ///< its site factor was set by this engine
  double gone_at = -1;             ///< when a snapshot first lacked it
  double pushed_at = -1;           ///< when mlqd was told last
  bool told_end = false;           ///< mlqd knows that it ended
  std::size_t pushed_print = 0;    ///< of what it was told

 private:
  struct Progress {
    double core_seconds;
    double loss;
  };
  void restore_from(const char* admin_comment);
  void parse_request();
  void open_curve();
  void observe_speed(const LossPoint& point);
  OutlookOptions prospect_options() const;
  void note_progress(const LossPoint& point);
  double gain_of_curve(double ahead) const;

  SlurmView seen_;
  mlq_request_t request_{};
  std::string request_error_;
  std::string family_;
  std::optional<LossCurve> curve_;
  IterationTime speed_;
  std::optional<AgentReport> agent_;
  SizeHistory sizes_;
  OutlookTracker tracker_;
  mlq::Outlook prospect_;
  GainMeter meter_;
  bool unfitted_ = false;
  double other_components_ = 0;
  double core_seconds_before_ = 0;  ///< of earlier runs, without companions
  double first_of_run_ = -1;
  double shrunk_core_s_ = 0;         ///< of this run: what nodes used that it has given back
  double running_seen_ = 0;          ///< when the job was last seen running
  std::optional<LossPoint> anchor_;  ///< where the iterations now being timed began
  std::vector<Progress> progress_;
  std::vector<std::uint32_t> ranks_;
  std::optional<CommentFields> restored_;  ///< of an earlier slurmctld
  bool summarised_ = false;
};

}  // namespace mlq::engine
