// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/balance/speed.hpp"

namespace mlq::balance {

/// A file of the kernel that is read again and again: opened once, closed on exec. What is not there stays
/// empty.
class KernelFile {
 public:
  KernelFile() = default;
  explicit KernelFile(const std::string& path);
  ~KernelFile();
  KernelFile(KernelFile&& other) noexcept;
  KernelFile& operator=(KernelFile&& other) noexcept;

  bool open() const { return descriptor_ >= 0; }
  /// From the start, in `buffer`; at most its size. Empty when it cannot be read.
  std::string_view read(std::vector<char>& buffer) const;

 private:
  int descriptor_ = -1;
};

/// The clocks a sample is taken by, in ns; tests give their own.
struct SamplerClocks {
  std::uint64_t (*wall)();  ///< monotonic
  std::uint64_t (*own)();   ///< CPU time of this process
};
SamplerClocks real_clocks();

/// Watches how much of its cores this process can have. Not thread-safe.
///
/// cpu: one less what others ran on the cores this process may use and what its cgroup was throttled, both
/// per core since the last sample. Running times are, as far as the kernel gives them, those of cgroup v1's
/// root (cpuacct.usage_percpu) or of /proc/schedstat, both in ns, else of /proc/stat in ticks of 10 ms.
///
/// stall: share of the time that the watched thread wanted to run but waited for a core, by its schedstat;
/// else the pressure ("some") on the CPUs of this cgroup, else of the node.
class NodeSampler {
 public:
  /// root: where /proc and /sys/fs/cgroup are, "" for the real ones. thread: whose waiting counts, 0 = the
  /// one that started this process.
  explicit NodeSampler(const std::string& root = "", pid_t thread = 0, SamplerClocks clocks = real_clocks());
  /// What cannot be read counts as cpu 1, memory 0 (bytes) and stall 0.
  NodeState sample();

 private:
  enum class Running : std::uint8_t { cpuacct, schedstat, stat };
  struct Times {  ///< ns
    std::uint64_t wall = 0, own = 0, running = 0, throttled = 0;
    std::uint64_t waited = 0, ran = 0;  ///< of the watched thread
    std::uint64_t pressure = 0;
  };

  void find_running(const std::string& root);
  void find_limits(const std::string& root);
  Times read();
  std::uint64_t running();
  double share(const Times& now) const;
  double stall(const Times& now) const;

  SamplerClocks clocks_;
  cpu_set_t cores_;
  Running kind_ = Running::stat;
  KernelFile running_, throttle_, memory_, thread_, pressure_;
  std::uint64_t throttle_unit_ = 1;  ///< ns
  std::vector<char> buffer_;
  Times last_;
  NodeState state_{1, 0, 0};
};

}  // namespace mlq::balance
