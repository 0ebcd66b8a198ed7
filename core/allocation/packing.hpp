// SPDX-License-Identifier: GPL-2.0-or-later
// From units to nodes: where a waiting job could start, and in which pieces units fit onto nodes. In CPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mlq {

struct NodeRoom {
  std::uint32_t cpus = 0;  ///< of the node
  std::uint32_t idle = 0;  ///< that nobody holds; 0 where the node takes no work
};

/// CPUs on one node that can be had back.
struct LentPiece {
  std::uint32_t node = 0;  ///< index
  std::uint32_t cpus = 0;
};

/// A job that waits, as far as its place is concerned.
struct WaitingShape {
  std::uint32_t cpus = 1;           ///< at least so many in all
  std::uint32_t nodes = 1;          ///< on at least so many nodes
  std::uint32_t max_nodes = 0;      ///< and at most so many; 0: any number
  std::uint32_t cpus_per_task = 1;  ///< each node gives a multiple of it, >= 1
  std::uint32_t cpus_per_node = 0;  ///< and at least so many
  bool whole_nodes = false;         ///< a node is taken alone or not at all
};

struct NodeShare {
  std::uint32_t node = 0;
  std::uint32_t cpus = 0;  ///< > 0
};

struct Placement {
  std::vector<NodeShare> taken;       ///< one entry a node
  std::vector<std::size_t> recalled;  ///< indices of the pieces that must go first, ascending
};

/// A place for the job on the nodes with `allowed[node]` set: out of idle CPUs when these suffice, else with
/// pieces recalled, few rather than many; nothing when the job could not start even with all of them.
std::optional<Placement> place(const WaitingShape& job, std::span<const NodeRoom> nodes,
                               std::span<const LentPiece> pieces, std::span<const char> allowed);

/// What placing did to the nodes: taken and recalled CPUs change `idle`.
void settle_placement(const Placement& placement, std::span<const LentPiece> pieces,
                      std::span<NodeRoom> nodes);

struct PieceSize {
  std::uint32_t unit = 1;    ///< CPUs of a unit, >= 1; of whole nodes it is of no matter
  bool whole_nodes = false;  ///< a unit is a node that is idle altogether
};

struct UnitPiece {
  std::uint32_t node = 0;
  std::uint32_t units = 0;  ///< > 0
};

/// Up to `units` units in as few pieces as can be, each on one node; takes them from `idle`. As many as fit
/// when not all do. The last piece goes to the node that it fills best.
std::vector<UnitPiece> pack(std::uint32_t units, PieceSize size, std::span<NodeRoom> nodes,
                            std::span<const char> allowed);

}  // namespace mlq
