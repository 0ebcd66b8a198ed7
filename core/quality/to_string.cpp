// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/quality/curve.hpp"

namespace mlq {

std::string_view to_string(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::no_data:
      return "no_data";
    case Verdict::improving:
      return "improving";
    case Verdict::noisy:
      return "noisy";
    case Verdict::plateau:
      return "plateau";
    case Verdict::rising:
      return "rising";
    case Verdict::diverged:
      return "diverged";
    case Verdict::constant:
      return "constant";
  }
  return "unknown";
}

}  // namespace mlq
