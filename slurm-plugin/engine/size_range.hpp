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
  bool nodes = false;              ///< units are nodes, else CPUs
  std::uint32_t unit = 1;          ///< CPUs of a unit; of a node: those that the job needs there
  std::uint32_t min = 1, max = 1;  ///< units
  std::uint32_t asked = 1;         ///< units that it asks for now
};

/// --nodes=A-B as it was before a size was put there.
struct NodeRange {
  std::uint32_t min = 0, max = 0;  ///< max 0: none
};

/// Of a job with that --ml-quality. A range is `min` and `max` of it, the one that is missing being what the
/// job asks for; without either of them --nodes=A-B.
SizeRange size_range(const mlq_request_t& request, const mlq_size_request_t& size, NodeRange before = {});

/// The same request with `units` units.
mlq_sizing_t sized(const SizeRange& range, const mlq_size_request_t& size, std::uint32_t units);

}  // namespace mlq::engine
