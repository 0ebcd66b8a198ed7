// SPDX-License-Identifier: GPL-2.0-or-later
// From units to nodes: where a waiting job could start, and in which pieces units fit onto nodes. In CPUs and
// GPUs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mlq {

constexpr std::size_t max_gpu_types = 16;
constexpr std::uint32_t any_gpu_type = (1U << max_gpu_types) - 1;

/// GPUs by type; which type has which number is the caller's business.
class Gpus {
 public:
  Gpus() = default;
  Gpus(std::size_t type, std::uint32_t count) { add(type, count); }
  /// Of the types with their bit set.
  std::uint32_t count(std::uint32_t types = any_gpu_type) const;
  void add(std::size_t type, std::uint32_t count);
  void add(const Gpus& more);
  /// Up to `count` of these types are taken from here, the lowest type first.
  Gpus take(std::uint32_t types, std::uint32_t count);
  void clear() { of_.fill(0); }

 private:
  std::array<std::uint16_t, max_gpu_types> of_{};
};

struct NodeRoom {
  std::uint32_t cpus = 0;  ///< of the node
  std::uint32_t idle = 0;  ///< that nobody holds; 0 where the node takes no work
  Gpus gpus{};             ///< that nobody holds
  std::uint32_t kept = 0;  ///< of the idle CPUs: kept for units with GPUs
};

/// CPUs and GPUs on one node that can be had back.
struct LentPiece {
  std::uint32_t node = 0;  ///< index
  std::uint32_t cpus = 0;
  Gpus gpus{};
};

/// A job that waits, as far as its place is concerned.
struct WaitingShape {
  std::uint32_t cpus = 1;                  ///< at least so many in all
  std::uint32_t nodes = 1;                 ///< on at least so many nodes
  std::uint32_t max_nodes = 0;             ///< and at most so many; 0: any number
  std::uint32_t cpus_per_task = 1;         ///< each node gives a multiple of it, >= 1
  std::uint32_t cpus_per_node = 0;         ///< and at least so many
  bool whole_nodes = false;                ///< a node is taken alone or not at all
  std::uint32_t gpus = 0;                  ///< at least so many in all, one on each node at least; 0: none
  std::uint32_t gpus_per_node = 0;         ///< so many on each node; 0: it does not matter
  std::uint32_t cpus_per_gpu = 0;          ///< beside each of them at least so many
  std::uint32_t gpu_types = any_gpu_type;  ///< bits: that will do
};

struct NodeShare {
  std::uint32_t node = 0;
  std::uint32_t cpus = 0;  ///< > 0
  std::uint32_t gpus = 0;
};

struct Placement {
  std::uint32_t gpu_types = any_gpu_type;
  std::vector<NodeShare> taken;       ///< one entry a node
  std::vector<std::size_t> recalled;  ///< indices of the pieces that must go first, ascending
};

/// A place for the job on the nodes with `allowed[node]` set: out of idle CPUs when these suffice, else with
/// pieces recalled, few rather than many; nothing when the job could not start even with all of them. With a
/// largest number of nodes, a job that asks for GPUs may not be found a place that there is: the nodes with
/// most GPUs are looked at alone.
std::optional<Placement> place(const WaitingShape& job, std::span<const NodeRoom> nodes,
                               std::span<const LentPiece> pieces, std::span<const char> allowed);

/// What placing did to the nodes: taken and recalled CPUs and GPUs change what is idle.
void settle_placement(const Placement& placement, std::span<const LentPiece> pieces,
                      std::span<NodeRoom> nodes);

struct PieceSize {
  std::uint32_t unit = 1;                  ///< CPUs of a unit, >= 1; of whole nodes it is of no matter
  bool whole_nodes = false;                ///< a unit is a node that is idle altogether
  std::uint32_t gpus = 0;                  ///< of a unit
  std::uint32_t gpu_types = any_gpu_type;  ///< bits: that will do
};

struct UnitPiece {
  std::uint32_t node = 0;
  std::uint32_t units = 0;  ///< > 0
};

/// Up to `units` units in as few pieces as can be, each on one node; takes them from what is idle. As many as
/// fit when not all do. The last piece goes to the node that it fills best. Kept CPUs are for units with
/// GPUs.
std::vector<UnitPiece> pack(std::uint32_t units, PieceSize size, std::span<NodeRoom> nodes,
                            std::span<const char> allowed);

}  // namespace mlq
