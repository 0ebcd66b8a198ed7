// SPDX-License-Identifier: GPL-2.0-or-later
// The size that a pending job is to ask for: what would start now against what is worth waiting for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/allocation/allocator.hpp"

namespace mlq {

/// A pending job whose size may be chosen. Sizes are in units; a unit takes `unit` cores, or GPUs where
/// these are what is idle.
struct PendingJob {
  std::uint64_t key = 0;    ///< breaks ties (lower first)
  double rank = 0;          ///< the higher, the sooner it gets its minimum
  std::uint32_t unit = 1;   ///< cores of a unit, >= 1
  std::uint32_t min = 1;    ///< >= 1
  std::uint32_t max = 1;    ///< >= min
  std::uint32_t asked = 1;  ///< what it asks for as it stands
  std::uint32_t room = 0;   ///< units that could start now if it were alone
  double waited = 0;        ///< seconds that it could have run and did not, >= 0
  double horizon = 60;      ///< seconds over which its quality counts, > 0
  bool grows = false;       ///< it can be given more while it runs, so nothing is won by waiting
};

/// What a pending job gets out of a size.
class PendingValue {
 public:
  virtual ~PendingValue() = default;
  /// Quality gained within `seconds` on `units`, as predicted: finite, >= 0, never decreasing in either.
  virtual double gain(std::size_t job, std::uint32_t units, double seconds) const = 0;
};

struct PendingOptions {
  double margin = 0.05;       ///< a size must be better than the asked one by this share of its value
  double flat = 0.005;        ///< a size is as good as the best when it lacks no more than this share of it
  double shortest_wait = 30;  ///< seconds that a size which does not fit now is expected to wait at least
};

enum class SizeReason : std::uint8_t {
  kept,     ///< nothing is better than what it asks for by the margin
  share,    ///< its share of what is idle: more than it asks for
  fewer,    ///< fewer units than it asks for are as good
  sooner,   ///< fewer units than it asks for start now, and that is worth more than waiting
  waits,    ///< waiting for what it asks for is worth more than fewer units now
  no_room,  ///< not even its minimum could start
  bounds,   ///< what it asks for is outside [min, max]
};

struct SizeChoice {
  std::uint32_t units = 0;  ///< in [min, max]
  std::uint32_t share = 0;  ///< units that are its to start on now; 0: it cannot start
  SizeReason reason = SizeReason::kept;
};

/// Sizes of jobs that wait side by side for `idle` cores. Minima are dealt out in the order of rank, the rest
/// to whom the next unit is worth most per core (papers: SLAQ, section 5.2): a job's share. A size up to the
/// share starts now. What the job asks for, if it is more, is expected to wait as long again as the job has
/// waited, and gains over what is left of the horizon; nobody is made to wait for more than that. Of the
/// sizes that are as good as the best the smallest is taken, and what the job asks for is left alone unless
/// that is better by the margin. Deterministic.
std::vector<SizeChoice> size_pending(std::span<const PendingJob> jobs, std::uint32_t idle,
                                     const PendingValue& value, const PendingOptions& options = {});

}  // namespace mlq
