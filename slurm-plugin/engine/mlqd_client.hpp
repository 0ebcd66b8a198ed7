// SPDX-License-Identifier: GPL-2.0-or-later
// mlqd as the engine sees it: new points, families, and a place to put what was decided (doc/protocol.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/quality/curve.hpp"
#include "core/quality/family_prior.hpp"
#include "slurm-plugin/engine/http_client.hpp"
#include "slurm-plugin/engine/log.hpp"
#include "slurm-plugin/engine/resizing.hpp"

namespace mlq::engine {

struct ReportedPoint {
  std::uint32_t job_id = 0;
  std::int64_t submit = 0;  ///< 0: mlqd does not know it yet
  LossPoint point;
};

struct PointsPage {
  std::string epoch;
  std::uint64_t next = 0;
  bool more = false;
  std::size_t malformed = 0;  ///< rows that were left out
  std::vector<ReportedPoint> points;
  std::vector<AgentReport> agents;  ///< those that spoke
};

struct FamilyRecord {
  std::string name;
  unsigned runs = 0;
  RunSummary mean;
};

/// A job that mlqd takes for not ended, by what tells it from others.
struct OpenJob {
  std::uint32_t job_id = 0, uid = 0, restarts = 0;
  std::int64_t submit = 0;
};

/// False with a reason when the text is no such message; rows that are malformed are left out and counted.
bool parse_points(const std::string& body, std::uint64_t after, PointsPage& out, std::string& error);
bool parse_jobs(const std::string& body, std::vector<OpenJob>& out, std::string& error);
bool parse_families(const std::string& body, std::vector<FamilyRecord>& out, std::string& error);

/// Every call ends by the deadline given to start_cycle().
class MlqdClient {
 public:
  static constexpr std::size_t page_points = 10000;

  MlqdClient(std::string cluster, Log log) : cluster_(std::move(cluster)), log_(log) {}

  void configure(const mlq_config_t& config);
  /// From any thread: requests end early from now on.
  void stop() noexcept { http_.stop(); }
  void start_cycle() { deadline_ = std::chrono::steady_clock::now() + timeout_; }
  bool time_left() const { return left().count() > 0; }

  bool points(std::uint64_t after, double now, PointsPage& out);
  bool families(double now, std::vector<FamilyRecord>& out);
  bool open_jobs(double now, std::vector<OpenJob>& out);
  bool cycle(const std::string& body, double now);

 private:
  std::chrono::milliseconds left() const;
  bool send(const std::string& target, const std::string* json, double now, std::string& body);
  bool answered(bool well, const std::string& why, double now);
  const std::string& token(double now);

  std::string cluster_;
  Log log_;
  HttpClient http_;
  std::string url_;
  std::string key_file_;
  std::string token_;
  double token_renewal_ = 0;
  std::chrono::milliseconds timeout_{1000};
  std::chrono::steady_clock::time_point deadline_{};
  bool away_ = false;
  double said_at_ = 0;  ///< when the log was last told that mlqd is away
  std::string said_;
};

}  // namespace mlq::engine
