// SPDX-License-Identifier: GPL-2.0-or-later
// What Slurm's limits leave of a pending job's range. Slurm holds them against a job when it could start, so
// a size that was put there may turn out to be beyond one: seen in what the job then waits for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mlq::engine {

class SizeLimit {
 public:
  static constexpr double settle_s =
      60;  ///< after a change, before what a job waits for is taken to be of the new size

  /// `units` are to take the place of `asked`.
  void put(std::uint32_t asked, std::uint32_t units);

  /// To be told what the job asks for before anything else is called: a size that somebody else put there is
  /// its own.
  void see(std::uint32_t asked);

  /// Units that the job is to ask for instead of `asked`, as it waits for `limit` (Slurm's name); 0: none.
  /// What was put there is taken back; what can never start in [min, max] is halved, or doubled where the
  /// limit is a least one.
  std::uint32_t instead(std::string_view limit, std::uint32_t asked, std::uint32_t min, std::uint32_t max,
                        double unchanged_s);

  /// [min, max] without the sizes that waited for a limit.
  void narrow(std::uint32_t& min, std::uint32_t& max) const;

  /// "; with more it waited for ...", "" while none is known.
  std::string text() const;

 private:
  std::uint32_t own_ = 0;  ///< units that it asked for before any were put; 0: none were
  std::uint32_t put_ = 0,
                before_ = 0;  ///< the newest, and what it takes the place of unless Slurm refuses it
  std::uint32_t least_ = 0, most_ = UINT32_MAX;
  std::string name_;
};

}  // namespace mlq::engine
