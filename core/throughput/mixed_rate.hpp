// SPDX-License-Identifier: GPL-2.0-or-later
// Throughput of an allocation made of unequal parts.
#pragma once

#include <cstdint>
#include <span>

namespace mlq {

/// How a job's ranks share the batch.
enum class Mix : std::uint8_t {
  additive,      ///< batches sized by speed: the parts' speeds add up (papers: LB-BSP)
  slowest_rank,  ///< equal batches per core: everyone waits for the slowest part
};

/// One node class of an allocation.
struct MixedPart {
  double cores = 0;  ///< >= 0
  double rate = 0;   ///< iterations per second that these cores alone would do, >= 0
};

/// Iterations per second of all parts together; parts without cores are left out. Finite, >= 0; a part that
/// is not finite counts as rate 0 (and so stalls a slowest-rank job).
double mixed_rate(std::span<const MixedPart> parts, Mix mix);

}  // namespace mlq
