// SPDX-License-Identifier: GPL-2.0-or-later
// A job as mlqd tells it (doc/protocol.md), for reading and showing. What mlqd does not say is absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/wire/wire.hpp"
#include "tools/mlq/size_view.hpp"

namespace mlq::cli {

struct ForecastView {
  Number iterations, now, predicted, lower, upper;
};

/// What a rank of a job reported last.
struct RankView {
  std::uint32_t rank = 0;
  std::string node;
  Number size;   ///< samples of its batch
  Number speed;  ///< samples a second
  double received = 0;
};

struct JobView {
  std::uint32_t job_id = 0;
  std::uint32_t uid = 0;
  std::string user, account, partition, name, family, request, state;
  bool ended = false;
  Number submit, start, end, restarts, cores;
  Number array_job_id, array_task_id;  ///< of a task of an array; its task absent: the record of several
  Number iteration, loss, first_loss, best_loss, points, last_report;
  Number fraction, gain, gain_per_core, score, rank, ranked, site_factor;
  Number rate;     ///< iterations a second
  Number horizon;  ///< seconds
  Number core_seconds;
  std::string model, verdict, source, reason;
  ForecastView forecast;
  SizeView size;
};

struct CurvePoint {
  double iteration = 0;
  Number loss;  ///< absent: not finite
  double time = 0;
  Number cores;
};

/// What the scheduler's last cycle was like.
struct CycleView {
  Number time, weight, horizon, interval;
  std::string mode;
};

/// Values of the wrong type count as absent.
JobView read_job(const json_t* job);
std::vector<CurvePoint> read_points(const json_t* points);
/// By rank.
std::vector<RankView> read_ranks(const json_t* batches);
CycleView read_cycle(const json_t* cycle);

/// Flat object with every member, unknown ones null; times in seconds since the epoch, age in seconds.
wire::Json job_json(const JobView& job, double now);

/// Lower is shown first: jobs that run or wait by their rank, then those without one, then ended ones; by id.
bool shown_before(const JobView& left, const JobView& right);

/// As squeue shows it: N_K of task K of array N, else the number.
std::string shown_id(const JobView& job);

/// Seconds since the last report.
Number age(const JobView& job, double now);

}  // namespace mlq::cli
