// SPDX-License-Identifier: GPL-2.0-or-later
// Many simple predictors of one curve, weighted by how well each foretold what has come since.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/quality/family_fit.hpp"
#include "core/quality/trend_bank.hpp"
#include "core/quality/tuning.hpp"

namespace mlq {

/// The predictors: no change from a running median or from a weighted mean, trends in k and in ln k, curve
/// families.
struct Member {
  enum class Kind : std::uint8_t { median, mean, line, log_line, family };
  Kind kind = Kind::median;
  std::uint8_t which = 0;  ///< index of the median's width, the bank's memory or the family
};

class Portfolio {
 public:
  static constexpr std::array<std::size_t, 3> kMedians{3, 5, 9};
  static constexpr std::size_t kMembers =
      kMedians.size() + 3 * static_cast<std::size_t>(TrendBank::kMemories) + kFamilies.size();
  static Member member(std::size_t i);

  /// A horizon from point number k on, with what it means to a trend: what its slope is multiplied with.
  struct Ahead {
    Ahead(double points, double k, double damp);
    double points, straight, logarithmic;
  };

  /// What the members say at one origin, in a frame.
  struct Opinion {
    double k = 1;  ///< number of the origin's point
    std::array<double, kMedians.size()> medians{};
    TrendBank::Trends trends;
    std::array<FamilyFit, kFamilies.size()> fits{};

    std::array<double, kMembers> levels{};  ///< where each member sees the curve at the origin

    /// From the level on; never down to where no curve is expected to go.
    double change(std::size_t i, const ScaledWindow& scaled, const Ahead& ahead) const;
    void set_levels(const Frame& frame);
  };

  /// The last fits, where the next ones start. Belongs to one curve.
  struct Memory {
    Frame frame;
    double spacing = 0;
    std::array<FamilyFit, kFamilies.size()> fits{};
  };

  /// Forms the opinions at the newest point and at earlier origins, and weights the members.
  /// `scaled` and `tuning` must outlive this. The window holds at least 5 points, `scaled` is usable.
  Portfolio(const ScaledWindow& scaled, Memory& memory, const Tuning& tuning);

  /// Where the blend stands now, and its change over a horizon, in the frame.
  double level() const;
  double change(double ahead) const;

  /// Mean absolute error of the blend in the back-tests, and the horizon in points they were made at; tests()
  /// is how many.
  double error() const { return error_; }
  double tested_horizon() const { return tested_horizon_; }
  std::size_t tests() const { return tests_; }

  /// The member of the greatest weight, by name: of a family its own, otherwise "log trend", "trend", "no
  /// change".
  const char* strongest() const;

 private:
  static constexpr std::size_t kTests = 8;
  void form_opinions(Memory& memory);
  void weigh();
  void trust(const std::array<double, kMembers>& errors, std::array<double, kMembers>& counts);
  void trim(double tests);
  double foretold(const Opinion& from, double ahead) const;

  const ScaledWindow& scaled_;
  const Tuning& tuning_;
  std::array<Opinion, kTests + 1> opinions_{};  // newest first
  std::array<std::size_t, kTests + 1> ends_{};  // index of each origin in the window
  std::size_t tests_ = 0, reach_ = 1;           // reach: back-test horizon in points of the window
  double tested_horizon_ = 1, error_ = 0;
  std::array<double, kMembers> weights_{};  // sum to 1
};

}  // namespace mlq
