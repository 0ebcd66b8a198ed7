// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

namespace mlq::balance {

/// Estimates beside the real run what an equal split would have taken, and says when balancing does not pay:
/// two windows in a row slower than equal. After a pause balancing gets another chance.
class Shadow {
 public:
  /// Both in seconds, of the iteration just done.
  void observe(double balanced, double equal) {
    if (pause_ > 0) {
      --pause_;
      return;
    }
    balanced_ += balanced;
    equal_ += equal;
    if (++count_ < kWindow) return;
    lost_windows_ = balanced_ > equal_ ? lost_windows_ + 1 : 0;
    if (lost_windows_ >= 2) {
      pause_ = kPause;
      lost_windows_ = 0;
    }
    balanced_ = equal_ = 0;
    count_ = 0;
  }
  bool reverted() const { return pause_ > 0; }

 private:
  static constexpr int kWindow = 20, kPause = 200;  ///< iterations
  double balanced_ = 0, equal_ = 0;
  int count_ = 0, lost_windows_ = 0, pause_ = 0;
};

}  // namespace mlq::balance
