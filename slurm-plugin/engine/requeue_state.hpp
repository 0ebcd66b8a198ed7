// SPDX-License-Identifier: GPL-2.0-or-later
// How far a job with resize=requeue has come on its way to another size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mlq::engine {

/// Of a heterogeneous job: what a component beside the one that is followed is to have.
struct ComponentUnits {
  std::uint32_t offset = 0, units = 0;
  bool operator==(const ComponentUnits&) const = default;
};

/// What AdminComment keeps of it, so that a new slurmctld goes on where the last one was.
struct RequeueRecord {
  static constexpr std::size_t most_components =
      8;  ///< beside the one that is followed: AdminComment is short

  std::uint32_t done = 0;  ///< requeues of ours, the one under way included
  double at = 0;          ///< when the one under way was announced, whole seconds since the epoch; 0: none is
  std::uint32_t run = 0;  ///< `restarts` of the run that is to end
  double iteration = -1;  ///< last one reported before it was to save; < 0: none
  std::uint32_t units = 0;                 ///< that it is to have then; 0: its own request stays
  std::vector<ComponentUnits> components;  ///< the others that are sized, by rising offset
  double back = -1;  ///< it went on from this iteration, before `iteration`: never again; < 0: it did not

  bool any() const { return done > 0 || at > 0 || back >= 0; }
  bool operator==(const RequeueRecord&) const = default;
};

struct RequeueState {
  RequeueRecord kept;
  bool inherited = false;   ///< of an earlier slurmctld: what it did after the announcement is not known
  RequeueRecord saved;      ///< what slurmctld was asked to save
  double written_at = -1;   ///< when AdminComment was first seen to hold the announcement
  double told_at = -1;      ///< when the job was told to save
  bool by_agent = false;    ///< it was told so over mlqd, and says itself when it has saved
  unsigned failures = 0;    ///< of Slurm to requeue it
  std::string refusal;      ///< Slurm's last word on that
  double not_before = 0;    ///< none is announced until then
  std::string why_not_yet;  ///< why
  double cost_s = -1;       ///< of the last one, from the word to save to the first report; < 0: none yet
  std::uint32_t said = 0;   ///< units that a dry run would have requeued it for

  /// Announced, and the run that is to end has not been requeued yet.
  bool under_way(std::uint32_t restarts) const { return kept.at > 0 && kept.run == restarts; }
  /// Requeued by us, and not seen to go on yet.
  bool to_check(std::uint32_t restarts) const { return kept.at > 0 && kept.run < restarts; }
};

}  // namespace mlq::engine
