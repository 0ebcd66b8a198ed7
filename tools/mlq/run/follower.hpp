// SPDX-License-Identifier: GPL-2.0-or-later
// The agent's talk with mlqd: the job's target about once a second, the agent's report at each change and
// every ten.
#pragma once

#include <functional>
#include <random>
#include <string>

#include "tools/mlq/run/companion_plan.hpp"
#include "tools/mlq/run/http.hpp"
#include "tools/mlq/run/loop.hpp"

namespace mlq::run {

struct FollowerHooks {
  std::function<void(const JobNews&)> news;
  std::function<void()> silent;         ///< mlqd has not answered for the silence; again after as long
  std::function<std::string()> report;  ///< body of POST /v1/agent
};

/// Seconds from an answer to the next question: what mlqd told (0 = nothing), at least 1, and so short that
/// several answers come within the silence; at most 30.
double poll_pause(double told, double silence);

/// A pause up to 10 % shorter or longer, by chance: agents that started together do not go on in step.
double spread(double seconds, std::minstd_rand& random);

class Follower {
 public:
  static constexpr double kEvery = 1, kReportEvery = 10;  ///< seconds; mlqd may tell a longer one than kEvery

  Follower(Loop& loop, const std::string& url, const std::string& token, const std::string& cluster,
           std::int64_t job, double silence, FollowerHooks hooks);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  void changed();  ///< a report is due soon
  /// The last report; `done` when it was taken or refused, at most so long after.
  void last_report(Seconds limit, std::function<void()> done);

 private:
  void poll();
  void answered(long status, const std::string& body);
  void send_report();

  Loop& loop_;
  Http http_;
  std::string path_;
  double silence_;  ///< seconds
  FollowerHooks hooks_;
  Loop::Timer poll_timer_ = 0, report_timer_ = 0;
  double pause_ = kEvery;
  bool first_ = true;
  std::minstd_rand random_{std::random_device()()};
  bool soon_ = false;
  Clock::time_point heard_ = Clock::now();
};

}  // namespace mlq::run
