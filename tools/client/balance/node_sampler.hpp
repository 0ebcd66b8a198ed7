// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sched.h>

#include <cstdint>
#include <string>

#include "core/balance/speed.hpp"

namespace mlq::balance {

/// Watches how much of its cores this process could have: the share of time since the last sample that others
/// did not take, by /proc/stat of the cores it may run on, and what its cgroup was throttled. Reads at most a
/// few KiB; no thread.
class NodeSampler {
 public:
  /// root: where /proc and /sys/fs/cgroup are, "" for the real ones (tests give a folder).
  explicit NodeSampler(std::string root = "");
  /// cpu in [0, 1] per core it may use, memory in bytes. What cannot be read counts as 1 and 0.
  NodeState sample();

 private:
  struct Times {
    std::uint64_t others = 0, total = 0;  ///< ticks of the cores of this process
    std::uint64_t own = 0;                ///< ticks this process used
    std::uint64_t throttled_us = 0, at_us = 0;
  };
  Times read() const;

  std::string root_, cgroup_;
  cpu_set_t cores_;
  Times last_;
  double share_ = 1;
};

}  // namespace mlq::balance
