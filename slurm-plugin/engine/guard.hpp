// SPDX-License-Identifier: GPL-2.0-or-later
// The one place where exceptions stop: they are counted and said once, and the third makes the engine
// passive.
#pragma once

#include <exception>
#include <new>

#include "slurm-plugin/engine/log.hpp"

namespace mlq::engine {

class Guard {
 public:
  static constexpr unsigned max_strikes = 3;

  explicit Guard(Log log) noexcept : log_(log) {}

  /// What `body` returns, or -1 when it threw or the engine is passive. Reports without allocating.
  template <typename Body>
  int run(const char* where, Body&& body) noexcept {
    if (passive()) return -1;
    try {
      return body();
    } catch (const std::bad_alloc&) {
      strike(where, "out of memory");
    } catch (const std::exception& e) {
      strike(where, e.what());
    } catch (...) {
      strike(where, "unknown exception");
    }
    return -1;
  }

  bool passive() const noexcept { return strikes_ >= max_strikes; }
  unsigned strikes() const noexcept { return strikes_; }

 private:
  void strike(const char* where, const char* what) noexcept {
    strikes_++;
    log_.line(MLQ_LOG_ERROR, "%s failed (%u of %u): %s", where, strikes_, max_strikes, what);
    if (passive())
      log_.line(MLQ_LOG_ERROR, "passive from now on: ML jobs keep plain Slurm order until a restart");
  }

  Log log_;
  unsigned strikes_ = 0;
};

}  // namespace mlq::engine
