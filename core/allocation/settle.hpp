// SPDX-License-Identifier: GPL-2.0-or-later
// From the best allocation to the moves worth making: every change of a running job's size costs it time.
#pragma once

#include <cstdint>
#include <span>

#include "core/allocation/allocator.hpp"

namespace mlq {

struct Holding {
  std::span<const std::uint32_t> by_pool;  ///< units held now, one per pool; empty: none
  double since_change = 0;                 ///< seconds
  double move_cost = 0;                    ///< seconds without progress when its size changes, >= 0
};

struct SettleOptions {
  double horizon = 60;  ///< seconds over which a move must pay; longer than any move cost, or nothing moves
  double dwell = 0;     ///< seconds a job keeps a size, unless room for a minimum is needed
  double margin = 0.1;  ///< by how much the gain of a move must exceed what it costs
};

/// Turns `target` into what to do now. `objective` values are per unit of time. Jobs that start are given
/// room first (their minimum, against dwell as well); a growth is made when the value it adds over the
/// horizon, less its own pause, exceeds the loss of those who shrink for it, pauses included, by the margin.
/// Nobody shrinks for nothing. Units left over go to jobs that change anyway, or to those whose growth pays
/// alone. Within capacity always.
void settle(std::span<const Pool> pools, std::span<const UnitRequest> jobs, std::span<const Holding> held,
            const Objective& objective, const SettleOptions& options, Allocation& target);

}  // namespace mlq
