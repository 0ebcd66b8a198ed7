// SPDX-License-Identifier: GPL-2.0-or-later
// What of the cluster can be lent: idle CPUs and GPUs that nobody waits for, and those of companions.
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
/// What no job has, by node.
std::vector<NodeRoom> idle_room(const mlq_cluster_snapshot_t& cluster);
/// Bits of a type of GPUs by its name, "" of all; 0 when no node has it.
std::uint32_t gpu_types_of(const mlq_cluster_snapshot_t& cluster, const std::string& name);

/// A running companion and where it is.
struct LentCompanion {
  Companion* companion = nullptr;
  std::size_t owner = 0;                   ///< of the caller's
  std::uint32_t wanted_by = 0;             ///< job that waits for these CPUs; 0: none
  bool counts_gpus = false;                ///< its job's unit is a GPU
  std::uint32_t gpu_types = any_gpu_type;  ///< bits: that its job asks for
};

/// What units are made of: they are dealt out apart from each other.
enum class Kind : std::uint8_t { cpus, gpus };

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

  /// GPUs that a companion has, by type. Where its node has several types and it asks for none in particular
  /// they are taken to be of the first one.
  Gpus gpus_of(const LentCompanion& lent) const;

  /// Keeps CPUs beside idle GPUs of these nodes for `units` more units of that size.
  void keep_beside_gpus(std::uint32_t units, const PieceSize& size, std::span<const char> nodes);

  std::size_t nodes() const { return now_.size(); }
  /// Idle now and kept for nobody.
  std::span<const NodeRoom> now() const { return now_; }
  /// The same once what is wanted back was left.
  std::span<const NodeRoom> later() const { return later_; }

  /// Pools of later(), nodes of one class together, what of `lent` nobody wants included: of CPUs, those that
  /// are kept left out; of GPUs, those that somebody could use, of whatever type.
  std::span<const Pool> pools(Kind kind) const { return of(kind).pools; }
  /// Of a node; SIZE_MAX when it is in none.
  std::size_t pool_of(Kind kind, std::uint32_t node) const { return of(kind).of_node[node]; }

  /// After keep_beside_gpus().
  void make_pools(std::span<const LentCompanion> lent, std::size_t most);

 private:
  void keep_for(const mlq_waiting_snapshot_t& job, std::span<LentCompanion> lent, Patience& patience,
                double now);

  struct Pools {
    std::vector<Pool> pools;
    std::vector<std::size_t> of_node;
  };
  const Pools& of(Kind kind) const { return kind == Kind::gpus ? gpus_ : cpus_; }
  void make(Pools& pools, std::span<const std::uint32_t> capacity, std::size_t most) const;

  const mlq_cluster_snapshot_t* cluster_ = nullptr;
  std::vector<NodeRoom> now_, later_;
  std::vector<NodeRoom> unkept_;       ///< later_ without what is kept beside GPUs, and without these
  std::vector<std::uint32_t> useful_;  ///< GPUs that somebody could use, by node
  std::vector<LentPiece> pieces_;
  std::vector<std::size_t> piece_index_;
  Pools cpus_, gpus_;
};

/// Whether a node with the features `have` (a,b,c) is one for `wanted`. Only lists joined by & or , are
/// understood; whatever else is asked for counts as had, so that CPUs are rather kept than lent.
bool has_features(const char* have, const char* wanted);

}  // namespace mlq::engine
