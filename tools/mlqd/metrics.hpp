// SPDX-License-Identifier: GPL-2.0-or-later
// Counters of the daemon, and all that is exported as OpenMetrics text.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "tools/mlqd/reader.hpp"
#include "tools/mlqd/writer.hpp"

namespace mlq::mlqd {

struct Metrics {
  static constexpr std::array<unsigned, 13> kCodes = {200, 400, 401, 403, 404, 405, 408,
                                                      411, 413, 429, 500, 503, 0};

  std::array<std::atomic<std::uint64_t>, kCodes.size()> answers{};  ///< by status, the last for any other
  std::atomic<std::uint64_t> received_bytes{0};                     ///< of bodies that were read
  std::atomic<std::uint64_t> evicted{0};                            ///< idle connections closed to make room
  std::atomic<std::int64_t> job_connections{0}, local_connections{0};
  std::atomic<std::int64_t> body_bytes{0};  ///< of bodies now in memory
  std::atomic<std::uint64_t> agents{0};     ///< that asked for their target lately

  void count_answer(unsigned status) noexcept;
};

std::string openmetrics(const Metrics& metrics, const WriterCounters& writer, const StoreFacts& store);

}  // namespace mlq::mlqd
