// SPDX-License-Identifier: GPL-2.0-or-later
// The sizes between which a pending job's size may be chosen, and what each is in Slurm's terms.
#pragma once

#include <cstdint>
#include <string>

#include "core/request/quality_request.h"
#include "slurm-plugin/engine/size.h"

namespace mlq::engine {

struct SizeRange {
  bool given = false;              ///< the job names a range
  std::string refusal;             ///< why its size is not chosen all the same; "": it is
  bool nodes = false;              ///< units are nodes, else CPUs or GPUs
  std::uint32_t unit = 1;          ///< CPUs of a unit; of a node: those that the job needs there
  std::uint32_t gpus = 0;          ///< GPUs of a unit
  std::uint32_t tasks = 0;         ///< of a unit of GPUs; 0: its only task gets the CPUs of all units
  std::uint32_t min = 1, max = 1;  ///< units
  std::uint32_t asked = 1;         ///< units that it asks for now

  /// GPUs, however many a unit has of them, not nodes or cores.
  bool counts_gpus() const { return gpus > 0 && !nodes; }
  /// It has one task, on one node, whatever its size.
  bool one_task() const { return counts_gpus() && tasks == 0; }
};

/// --nodes=A-B as it was before a size was put there.
struct NodeRange {
  std::uint32_t min = 0, max = 0;  ///< max 0: none
};

/// Of a job with that --ml-quality. A range is `min` and `max` of it, the one that is missing being what the
/// job asks for, or asked for before its size was chosen (`own` units, 0: it was not); without either of them
/// --nodes=A-B.
SizeRange size_range(const mlq_request_t& request, const mlq_size_request_t& size, NodeRange before = {},
                     std::uint32_t own = 0);

/// The same request with `units` units.
mlq_sizing_t sized(const SizeRange& range, const mlq_size_request_t& size, std::uint32_t units);

}  // namespace mlq::engine
