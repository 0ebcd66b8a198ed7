// SPDX-License-Identifier: GPL-2.0-or-later
// A predicted curve as a small table over the horizon, so that the allocator's calls cost nanoseconds.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

namespace mlq {

/// Horizons in points: 0, 1, ... 7, then four an octave up to kFurthest; linear between, flat beyond.
/// `Stored` is double, or float where many are kept and the values are of order 1.
template <typename Stored>
class BasicHorizonTable {
 public:
  static constexpr int kOctaves = 12;
  static constexpr std::size_t kSize = 8 + 4 * kOctaves + 1;
  static constexpr double kFurthest = 8.0 * (1 << kOctaves);

  static double horizon(std::size_t i) {
    return i < 8 ? static_cast<double>(i)
                 : std::ldexp(4.0 + static_cast<double>(i % 4), static_cast<int>(i / 4) - 1);
  }

  Stored& operator[](std::size_t i) { return values_[i]; }
  double operator[](std::size_t i) const { return values_[i]; }

  /// h >= 0; anything else counts as 0.
  double at(double h) const {
    if (!(h > 0)) return values_[0];
    if (h >= kFurthest) return values_[kSize - 1];
    std::size_t i = static_cast<std::size_t>(h);
    if (h >= 8) {
      int exponent = 0;
      const double mantissa = std::frexp(h, &exponent);  // in [0.5, 1)
      i = static_cast<std::size_t>(4 * (exponent - 2) + static_cast<int>(8 * mantissa) - 4);
    }
    const double from = horizon(i), low = values_[i], high = values_[i + 1];
    return low + (high - low) * (h - from) / (horizon(i + 1) - from);
  }

 private:
  std::array<Stored, kSize> values_{};
};
using HorizonTable = BasicHorizonTable<double>;
using SmallHorizonTable = BasicHorizonTable<float>;

}  // namespace mlq
