// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mlq::balance {

/// Collects what the ranks of one node do, for mlqd: doc/protocol.md, POST /v1/speeds. One rank of a node,
/// its first, has one.
class SpeedReporter {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::duration kFirst = std::chrono::seconds(2), kInterval = std::chrono::seconds(30);
  static constexpr unsigned kIterations = 10;  ///< of a report at least

  /// Null outside a job of --ml-quality (MLQ_URL, MLQ_TOKEN, MLQ_FAMILY, MLQ_UNIT) and in all ranks but the
  /// first of a node.
  static std::unique_ptr<SpeedReporter> of_environment(std::uint32_t rank, std::uint32_t ranks);

  SpeedReporter(std::string head, std::vector<std::uint32_t> ranks);

  const std::vector<std::uint32_t>& ranks() const { return ranks_; }
  /// The i-th of ranks(): what it did in an iteration. seconds > 0.
  void add(std::size_t i, double seconds, double samples);
  /// The end of an iteration; the message to send when one is due, else "".
  std::string next(Clock::time_point now);

 private:
  struct Sum {
    double seconds = 0, samples = 0, newest = 0;
  };
  std::string message() const;

  std::string head_;  ///< JSON up to the ranks
  std::vector<std::uint32_t> ranks_;
  std::vector<Sum> sums_;
  unsigned iterations_ = 0;
  bool started_ = false;
  Clock::time_point due_;
};

/// The global ranks on this node as the launcher tells them, when `rank` is the first of them; else empty.
std::vector<std::uint32_t> ranks_of_node(std::uint32_t rank, std::uint32_t ranks);

}  // namespace mlq::balance
