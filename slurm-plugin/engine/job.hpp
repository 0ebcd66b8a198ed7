// SPDX-License-Identifier: GPL-2.0-or-later
// One ML job: what was asked, what was reported, what is predicted of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/quality/curve.hpp"
#include "core/quality/family_prior.hpp"
#include "core/request/quality_request.h"
#include "core/throughput/iteration_time.hpp"
#include "slurm-plugin/engine/admin_comment.hpp"
#include "slurm-plugin/engine/engine.h"
#include "slurm-plugin/engine/gain_meter.hpp"

namespace mlq::engine {

enum class Source : std::uint8_t { curve, family, optimistic };
const char* to_string(Source) noexcept;

/// A snapshot that owns its strings. Times are seconds since the epoch, 0 = not yet.
struct SlurmView {
  std::uint32_t job_id = 0, user_id = 0, restarts = 0;
  std::int64_t submit = 0, start = 0, end = 0;
  std::int64_t suspended = 0;  ///< seconds since the start
  mlq_job_state_t state = MLQ_JOB_PENDING;
  double cores = 1;
  std::string user, account, partition, name, end_state, request;
  std::string not_ranked;  ///< why not, though pending; empty when it is rankable
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

  /// Core-seconds used until `now`, earlier runs of a requeued job included.
  double core_seconds(double now) const;

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
  bool ended() const { return seen_.state == MLQ_JOB_ENDED; }
  bool ever_ran() const { return curve_ || core_seconds_before_ > 0 || seen_.start > 0; }
  /// Site factor that an earlier slurmctld or mode set, as AdminComment tells.
  std::uint32_t restored_site() const { return restored_ ? restored_->site : 0; }

  // Of the last cycle, kept by the engine.
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
  void note_progress(const LossPoint& point);
  double gain_of_curve(double ahead) const;

  SlurmView seen_;
  mlq_request_t request_{};
  std::string request_error_;
  std::string family_;
  std::optional<LossCurve> curve_;
  IterationTime speed_;
  GainMeter meter_;
  bool unfitted_ = false;
  double core_seconds_before_ = 0;   ///< of earlier runs
  double running_seen_ = 0;          ///< when the job was last seen running
  std::optional<LossPoint> anchor_;  ///< where the iterations now being timed began
  std::vector<Progress> progress_;
  std::vector<std::uint32_t> ranks_;
  std::optional<CommentFields> restored_;  ///< of an earlier slurmctld
  bool summarised_ = false;
};

}  // namespace mlq::engine
