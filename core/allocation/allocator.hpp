// SPDX-License-Identifier: GPL-2.0-or-later
// Deals units out one at a time to whom the next one is worth most per core (papers: SLAQ, section 5.2), with
// node classes, sizes that are not free, floors and caps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/throughput/mixed_rate.hpp"

namespace mlq {

/// Cores (or GPUs) of one node class in one partition.
struct Pool {
  std::uint32_t capacity = 0;
  double speed = 1;  ///< relative to the class that the jobs' values are stated for, > 0
};
constexpr std::size_t max_pools = 64;

/// What one job asks for. Sizes are in units; a unit takes `unit` cores (1, k, a node's cores) or GPUs of one
/// pool.
struct UnitRequest {
  std::uint64_t key = 0;    ///< breaks ties (lower first)
  std::uint64_t pools = 1;  ///< bit p: may use pool p
  std::uint32_t unit = 1;   ///< >= 1
  std::uint32_t min = 1;    ///< >= 1
  std::uint32_t max = 1;    ///< >= min
  std::uint32_t floor = 0;  ///< held before the auction starts, above min: exploration, ageing
  std::uint32_t account = 0;
  double rank = 0;  ///< the higher, the sooner a minimum is given when not all fit; ties by key
  std::span<const std::uint32_t> sizes;  ///< ascending; empty: every size from min to max
  std::span<const double> speeds;        ///< of this job on each pool; empty: the pools' own
  Mix mix = Mix::additive;
  bool concave = true;  ///< false: steps follow the concave hull of the value
};

/// What a job gets out of a size.
class Objective {
 public:
  virtual ~Objective() = default;
  /// Value of `units` units of speed 1 (fractional where pools differ in speed), over whatever time; finite.
  virtual double value(std::size_t job, double units) const = 0;
  /// Worth per core of the step `from` -> `to`, which takes `cores`; must not grow with `from`.
  virtual double density(std::size_t job, double from, double to, double cores) const {
    return (value(job, to) - value(job, from)) / cores;
  }
};

struct AllocatorOptions {
  double floor_share = 0.25;  ///< of all capacity: the most that floors may take beyond minima
  std::span<const std::uint32_t> account_caps;  ///< cores by account; empty: none
};

struct Allocation {
  std::vector<std::uint32_t> units;    ///< per job; 0: its minimum did not fit, it stays queued
  std::vector<std::uint32_t> by_pool;  ///< jobs x pools, row-major, units
  std::span<const std::uint32_t> row(std::size_t job, std::size_t pools) const {
    return {by_pool.data() + job * pools, pools};
  }
};

/// Minima in the order of rank, floors, then the auction; ends when nothing that fits is left to ask for it,
/// so all capacity that jobs can use is used, also for steps worth 0, but never for one that does harm. Pools
/// are taken in the order of their speed. Steps of equal worth go to the smaller holding, then the lower key.
/// Equals the best sum of values when these are concave and sizes free (a sum of concave functions under one
/// capacity). A request that makes no sense (no pool, unit 0, max < min) gets nothing. O((J + units) log J);
/// keeps its buffers between calls.
class Allocator {
 public:
  void run(std::span<const Pool> pools, std::span<const UnitRequest> jobs, const Objective& objective,
           const AllocatorOptions& options, Allocation& out);

 private:
  struct Entry {
    double density;
    std::uint32_t units;
    std::uint32_t order;  ///< place by key
  };
  static bool before(const Entry& a, const Entry& b);
  double speed(const UnitRequest& job, std::size_t pool) const;
  std::uint32_t available(std::size_t job) const;
  double effective_after(std::size_t job, std::uint32_t more) const;
  double effective(std::size_t job) const { return effective_[job]; }
  bool account_allows(std::size_t job, std::uint32_t more) const;
  void take(std::size_t job, std::uint32_t more);
  std::uint32_t step(std::size_t job) const;
  bool next_entry(std::size_t job, Entry& entry) const;
  void sort_by_key();
  void give_minima();
  void give_floors();
  void make_hulls();
  void auction();

  std::span<const Pool> pools_;
  std::span<const UnitRequest> jobs_;
  const Objective* objective_ = nullptr;
  AllocatorOptions options_;
  Allocation* out_ = nullptr;
  std::vector<std::uint32_t> left_;          ///< cores by pool
  std::vector<std::uint32_t> fastest_;       ///< pools by speed
  std::vector<std::uint64_t> account_used_;  ///< cores
  std::vector<std::uint32_t> by_key_, order_of_;
  std::vector<double> effective_;
  std::vector<std::uint32_t> hull_sizes_;  ///< of all jobs that have one, ascending within a job
  std::vector<double> hull_values_;
  struct Range {
    std::uint32_t begin = 0, end = 0;
  };
  std::vector<Range> hulls_;
  std::vector<Entry> heap_;
};

}  // namespace mlq
