// SPDX-License-Identifier: GPL-2.0-or-later
// Which of several ways to split a batch has earned trust. Each iteration's measured speeds tell what every
// one of them would have taken, whichever was in use, so equal ranks stay equal until a difference has been
// seen to pay.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace mlq::balance {

/// Rivals: the equal split, the split by the last iteration's speeds, the split by the speeds foreseen.
enum Rival : std::size_t { kEqual, kLast, kForeseen, kRivals };

/// Follows the equal split until another's gain on record passes what noise could do, and leaves that one as
/// soon as its record is spent. A gain is counted in iterations of the equal split and fades within some
/// thirty of them.
class Evidence {
 public:
  /// What the iteration just done would have taken with each rival (any unit, > 0), and the ranks' speeds in
  /// it (> 0).
  void observe(const std::array<double, kRivals>& makespans, std::span<const double> speeds);
  Rival trusted() const { return trusted_; }

 private:
  double needed() const;
  double limit() const;
  void learn_noise(std::span<const double> speeds);
  void consider();
  void reconsider();

  std::array<double, kRivals> gains_{};  ///< on record
  std::vector<double> before_;           ///< speeds of the last iteration
  double step_ = 0;     ///< mean relative change of a rank's speed from one iteration to the next
  double typical_ = 0;  ///< makespan of the equal split, outliers cut
  double paid_ = 0;     ///< gain since a rival is trusted
  double doubt_ = 0;    ///< share asked for on top, after trust that did not pay
  std::size_t count_ = 0;
  Rival trusted_ = kEqual;
};

}  // namespace mlq::balance
