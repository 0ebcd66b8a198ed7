// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/client/balance/node_sampler.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace mlq::balance {
namespace {

/// Value of the line that starts with `key`, 0 if there is none.
std::uint64_t field(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line))
    if (line.starts_with(key)) {
      std::istringstream rest(line.substr(key.size()));
      std::uint64_t value = 0;
      return rest >> value ? value : 0;
    }
  return 0;
}

std::string cgroup_folder(const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line))
    if (line.starts_with("0::")) return root + "/sys/fs/cgroup" + line.substr(3);
  return {};
}

}  // namespace

NodeSampler::NodeSampler(std::string root) : root_(std::move(root)), cgroup_(cgroup_folder(root_)) {
  CPU_ZERO(&cores_);
  if (sched_getaffinity(0, sizeof cores_, &cores_) != 0) CPU_SET(0, &cores_);
  last_ = read();
}

NodeSampler::Times NodeSampler::read() const {
  Times times;
  std::ifstream stat(root_ + "/proc/stat");
  std::string line;
  while (std::getline(stat, line) && line.starts_with("cpu")) {
    int core = -1;
    unsigned long long user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0;
    if (std::sscanf(line.c_str(), "cpu%d %llu %llu %llu %llu %llu %llu %llu %llu", &core, &user, &nice,
                    &system, &idle, &wait, &irq, &soft, &steal) < 5 ||
        core < 0 || core >= CPU_SETSIZE || !CPU_ISSET(core, &cores_))
      continue;
    const std::uint64_t busy = user + nice + system + irq + soft + steal;
    times.others += busy;
    times.total += busy + idle + wait;
  }
  std::ifstream self(root_ + "/proc/self/stat");
  if (std::getline(self, line)) {
    // The name in parentheses may hold anything; fields are counted from behind it.
    std::istringstream rest(line.substr(std::min(line.size(), line.rfind(')') + 2)));
    std::string skipped;
    for (int i = 0; i < 11 && rest >> skipped; ++i) {
    }
    std::uint64_t user = 0, system = 0;
    if (rest >> user >> system) times.own = user + system;
  }
  if (!cgroup_.empty()) times.throttled_us = field(cgroup_ + "/cpu.stat", "throttled_usec");
  times.at_us = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                               std::chrono::steady_clock::now().time_since_epoch())
                                               .count());
  return times;
}

NodeState NodeSampler::sample() {
  const Times now = read();
  const double total = static_cast<double>(now.total - last_.total);
  // Ticks are 10 ms: a shorter stretch says nothing, the last share stands.
  if (now.total > last_.total && total >= 2) {
    const double others = std::max(0.0, static_cast<double>(now.others - last_.others) -
                                            static_cast<double>(now.own - std::min(now.own, last_.own)));
    const double passed = static_cast<double>(now.at_us - last_.at_us);
    const double throttled =
        passed > 0 ? static_cast<double>(now.throttled_us - last_.throttled_us) / passed : 0;
    share_ = std::clamp(1 - others / total - throttled, 0.0, 1.0);
    last_ = now;
  }
  NodeState state{share_, 1024.0 * static_cast<double>(field(root_ + "/proc/meminfo", "MemAvailable:"))};
  return state;
}

}  // namespace mlq::balance
