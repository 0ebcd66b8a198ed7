// SPDX-License-Identifier: GPL-2.0-or-later
// What Slurm's limits leave of a pending job's range. Slurm holds them against a job when it could start, so
// a size that was put there may turn out to be beyond one: seen in what the job then waits for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "slurm-plugin/engine/size_range.hpp"

namespace mlq::engine {

class SizeLimit {
 public:
  /// Seconds after a change, before what a job waits for is taken to be of the new size.
  static constexpr double settle_s = 60;
  /// So long after a limit was last waited for it may have been raised; twice as long each time that it was
  /// not.
  static constexpr double keep_s = 600;

  /// `units` are to take the place of `asked`.
  void put(std::uint32_t asked, std::uint32_t units);

  /// What the job asks for now; to be told before anything else is called. A size that somebody else put
  /// there is its own.
  void see(std::uint32_t asked);

  /// Units that it asked for before those that were put there, 0: it asks for its own.
  std::uint32_t own(std::uint32_t asked) const { return own_ == asked ? 0 : own_; }

  /// Units that the job is to ask for instead of what it asks for in `range`, as it waits for `limit`
  /// (Slurm's name); 0: none. What was put there is taken back. What can never start, since the limit is on a
  /// job alone and on what fewer units have less of, is halved, or doubled where the limit is a least one.
  std::uint32_t instead(std::string_view limit, const SizeRange& range, const mlq_size_request_t& size,
                        double unchanged_s, double now);

  /// The job waits for no limit.
  void rest(double now);

  /// [min, max] without the sizes that waited for a limit.
  void narrow(std::uint32_t& min, std::uint32_t& max) const;

  /// "; with more it waited for ...", "" while none is known.
  std::string text() const;

 private:
  std::uint32_t own_ = 0;  ///< units that it asked for before any were put; 0: none were
  std::uint32_t put_ = 0,
                before_ = 0;  ///< the newest, and what it takes the place of unless Slurm refuses it
  std::uint32_t least_ = 0, most_ = UINT32_MAX;
  std::string name_;  ///< of the limit that they are from
  double waited_at_ = 0, keep_ = keep_s;
};

}  // namespace mlq::engine
