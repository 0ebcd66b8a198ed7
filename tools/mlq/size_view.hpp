// SPDX-License-Identifier: GPL-2.0-or-later
// The size of a job that is resized while it runs, and what its cores cost, as mlqd tells it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/wire/wire.hpp"
#include "tools/mlq/json_value.hpp"

namespace mlq::cli {

struct CompanionView {
  std::uint32_t job_id = 0;
  Number units;
  std::string state;
};

struct SizeView {
  Number target, base, held, lead, since;  ///< units; seconds
  std::string reason, change;              ///< the scheduler's: why this size, why no longer the one before
  std::vector<CompanionView> companions;   ///< those that Slurm knows
  // what its agent said last
  std::string phase, refused;
  Number moves, lost_s, move_s, refused_at, heard, ranks;
  // core-seconds
  Number used_base, used_companions, used_earlier, companion_jobs;

  bool resized() const { return target || !phase.empty() || !companions.empty() || !reason.empty(); }
};

/// Of a job as in GET /v1/jobs; values of the wrong type count as absent.
SizeView read_size(const json_t* job);

/// An object with every member, unknown ones null.
wire::Json size_json(const SizeView& size);

}  // namespace mlq::cli
