// SPDX-License-Identifier: GPL-2.0-or-later
// The daemon's clocks; what works with time takes it as a number.
#pragma once

#include <chrono>

namespace mlq::mlqd {

inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

inline double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace mlq::mlqd
