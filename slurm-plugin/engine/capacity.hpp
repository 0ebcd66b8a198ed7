// SPDX-License-Identifier: GPL-2.0-or-later
// What of the cluster can be lent: idle CPUs that nobody waits for, and CPUs of companions.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/allocation/allocator.hpp"
#include "core/allocation/packing.hpp"
#include "slurm-plugin/engine/engine.h"
#include "slurm-plugin/engine/resizing.hpp"

namespace mlq::engine {

/// One byte a node: where a waiting job could run. `required`: how many of the nodes that it names it needs.
std::vector<char> waiting_nodes(const mlq_cluster_snapshot_t& cluster, const mlq_waiting_snapshot_t& job,
                                std::uint32_t& required);
WaitingShape waiting_shape(const mlq_waiting_snapshot_t& job, std::uint32_t required);

/// A running companion and where it is.
struct LentCompanion {
  Companion* companion = nullptr;
  std::size_t owner = 0;        ///< of the caller's
  std::uint32_t wanted_by = 0;  ///< job that waits for these CPUs; 0: none
};

/// Jobs that could have started on idle CPUs for long and did not wait for something that is not seen here.
/// CPUs are kept for them no more, for a while.
class Patience {
 public:
  static constexpr double patience_s = 120;
  static constexpr double ignore_s = 600, ignore_most_s = 86400;

  bool ignored(std::uint32_t job_id, std::int64_t submit, double now);
  void could_start_now(std::uint32_t job_id, bool could, double now);
  void forget_others();  ///< those not asked for since the last call

 private:
  struct Entry {
    std::int64_t submit = 0;
    double since = -1, ignored_until = -1, ignore_next = ignore_s;
    bool asked = false;
  };
  std::map<std::uint32_t, Entry> entries_;
};

class Capacity {
 public:
  /// Reads the snapshot; keeps CPUs for the jobs that wait, by falling priority, and says of which `lent`
  /// CPUs they need (wanted_by).
  void read(const mlq_cluster_snapshot_t& cluster, std::span<LentCompanion> lent, Patience& patience,
            double now);

  /// One byte a node: in that partition, with all of these features. Empty when there is no such partition.
  std::vector<char> allowed(const std::string& partition, const char* features) const;

  std::size_t nodes() const { return now_.size(); }
  /// Idle now and kept for nobody.
  std::span<const NodeRoom> now() const { return now_; }
  /// The same once what is wanted back was left.
  std::span<const NodeRoom> later() const { return later_; }

  /// Pools of later(), nodes of one kind together: their CPUs, those of `lent` that nobody wants included.
  std::span<const Pool> pools() const { return pools_; }
  /// Of a node; SIZE_MAX when it is in none.
  std::size_t pool_of(std::uint32_t node) const { return pool_of_[node]; }

  void make_pools(std::span<const LentCompanion> lent, std::size_t most);

 private:
  void keep_for(const mlq_waiting_snapshot_t& job, std::span<LentCompanion> lent, Patience& patience,
                double now);

  const mlq_cluster_snapshot_t* cluster_ = nullptr;
  std::vector<NodeRoom> now_, later_;
  std::vector<LentPiece> pieces_;
  std::vector<std::size_t> piece_index_;
  std::vector<Pool> pools_;
  std::vector<std::size_t> pool_of_;
};

/// Whether a node with the features `have` (a,b,c) is one for `wanted`. Only lists joined by & or , are
/// understood; whatever else is asked for counts as had, so that CPUs are rather kept than lent.
bool has_features(const char* have, const char* wanted);

}  // namespace mlq::engine
