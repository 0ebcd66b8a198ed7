// SPDX-License-Identifier: GPL-2.0-or-later
// The body of POST /v1/speeds: batches and speeds of the ranks of a job on one node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlq::wire {

inline constexpr std::size_t kNodeMax = 255;           ///< bytes of a node's name
inline constexpr std::size_t kSpeedFamilyMax = 192;    ///< bytes of a family's name
inline constexpr std::size_t kRanksMax = 4096;         ///< of one report
inline constexpr std::int64_t kRankNumberMax = 65535;  ///< what libmlq_balance counts up to

struct RankSpeed {
  std::int64_t rank = 0;  ///< 0..kRankNumberMax
  std::int64_t size = 0;  ///< samples of its newest batch, 0..2^53
  double speed = 0;       ///< samples/s of its own work; 0 = not known
};

struct SpeedReport {
  std::string family;  ///< 1 to kSpeedFamilyMax bytes of graphic ASCII
  std::string unit;    ///< core, gpu, node or a number of cores
  std::string node;    ///< 1 to kNodeMax of A-Z a-z 0-9 . _ -
  std::vector<RankSpeed> ranks;

  /// Of the ranks whose speed is known; 0 when none is.
  double median_speed() const;
};

bool valid_speed_family(std::string_view name) noexcept;
bool valid_speed_unit(std::string_view name) noexcept;

/// Nothing, with an error that names the field and its index, when any part is wrong.
std::optional<SpeedReport> parse_speeds(std::string_view body, std::string& error);

}  // namespace mlq::wire
