// SPDX-License-Identifier: GPL-2.0-or-later
// The scheduler plugin's side, by its own client: every few seconds all new points, then every job's
// decision.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "slurm-plugin/engine/mlqd_client.hpp"
#include "tests/bench/mlqd_process.hpp"

namespace bench {

struct PluginFigures {
  std::vector<double> pulls, pushes, cycles;  ///< seconds; a cycle is both together
  std::uint64_t points = 0, agents = 0;       ///< pulled
  std::uint64_t failures = 0;                 ///< requests without a good answer
  std::map<unsigned, double> pushed;          ///< round of the targets, when its push began, seconds()
};

class Plugin {
 public:
  Plugin(const Mlqd& mlqd, unsigned jobs);
  ~Plugin();
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  bool push();  ///< one round: a new target for each job
  void start(double interval);
  PluginFigures stop();  ///< when the cycle under way is over

 private:
  void cycle();

  unsigned jobs_, round_ = 0;
  std::uint64_t after_ = 0;
  mlq::engine::MlqdClient client_;
  PluginFigures figures_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace bench
