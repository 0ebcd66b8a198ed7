// SPDX-License-Identifier: GPL-2.0-or-later
// What is expected of a job, in the few numbers that a decision needs. Made when its fit changes, not per
// decision.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace mlq {

class LossCurve;
class FamilyPrior;

/// Gain against iterations ahead as a concave table on powers of two; 64 bytes.
class GainTable {
 public:
  static constexpr std::size_t knots = 16;
  static double knot(std::size_t i);  ///< iterations, 2^(i - 2)

  GainTable() = default;
  /// Takes `gain(iterations)` at the knots and keeps its concave hull; what is not finite counts as 0.
  template <typename Gain>
  explicit GainTable(const Gain& gain) {
    std::array<double, knots> values;
    for (std::size_t i = 0; i < knots; ++i) values[i] = gain(knot(i));
    assign(values);
  }
  /// In [0, 1], concave and never decreasing; 0 at 0, constant beyond the last knot.
  double operator()(double iterations) const;

 private:
  void assign(const std::array<double, knots>& values);
  std::array<float, knots> values_{};
};

/// SLAQ's live forecast, as its authors had it: the last two losses continued as a geometric series,
/// normalised by the largest drop so far, iteration time proportional to 1/cores (papers: SLAQ, sections
/// 2, 3.3 and 4).
class TwoPointForecast {
 public:
  /// Losses in the trainer's units, smaller is better; `core_seconds` that the iteration took. Bad values are
  /// ignored.
  void add(double loss, double core_seconds);
  unsigned losses() const { return losses_; }
  /// Loss drop over `seconds` on `cores`, in largest drops; negative when the loss rises; finite.
  double gain(double cores, double seconds) const;
  double work() const { return work_; }  ///< mean core-seconds of an iteration, 0 while unknown

 private:
  double now_ = 0, before_ = 0, largest_drop_ = 0;
  double work_ = 0;
  unsigned losses_ = 0;
};

struct Outlook {
  bool known = false;    ///< false: nothing reported that a forecast could use, or the losses are not finite
  double fraction = 0;   ///< of the reachable reduction, in [0, 1]
  double to_target = 0;  ///< iterations until the target, > 0; 0: reached; infinite: no way there is seen
  double to_end = 0;     ///< iterations until the job ends, > 0; infinite: not known
  bool end_known = false;  ///< to_end is what the job states or earlier runs had, not the same for every job
  GainTable gain;
};

struct OutlookOptions {
  double target_fraction =
      0.95;               ///< of the reachable reduction; what a user wants soon (papers: SLAQ, section 1)
  double iterations = 0;  ///< that the job says it will run; 0: it does not say
  double expected_iterations = 0;  ///< of a job like this one, from earlier runs; 0: unknown
  double unknown_left = 100;       ///< iterations left of a job of which nothing is known: the same for all
  double show_itself = 20;  ///< iterations that every job gets soon, whatever its first losses look like
  bool own_target = false;  ///< the curve has a target loss of the job's own: fractions count towards it
};

/// Iterations left of a run of which `done` are done: as stated; else as expected, while that is ahead; else
/// the same for every job. > 0.
double iterations_left(double done, const OutlookOptions& options);
/// Whether that is stated or expected.
bool end_known(double done, const OutlookOptions& options);

/// Makes the outlook of one job, report by report.
///
/// The floor of a noisy curve is not its lowest report, which lies below by some standard deviations of the
/// noise and would keep a job that has converged short of its target for good: the fraction reached is what
/// is behind over what is behind and still foreseen, until the end of the run where that is known.
///
/// Forecasts jump about, most of all where the predictor takes another family of curves for the best or a new
/// segment begins, and a job that comes and goes as one near its target takes cores from those that surely
/// are short of it. So the fraction is a mean of those found so far, each weighing by the fourth power of the
/// iterations done then: it forgets at the pace at which the run grows. Such a mean lags behind; as far as
/// the floor stays where the like mean of floors is, within 0.02 of the fraction, the newest is taken
/// instead.
///
/// A job whose target were taken for reached at the first optimistic forecast would wait with the finished
/// ones and never prove it wrong. So the target counts as reached once the fraction has stayed within 0.03 of
/// it (in noise, 0.06) for 55 % more iterations, 40 % where the end is known, and from then on while it does
/// not fall 0.15 short of it. Meanwhile the way to the target is taken to be no shorter than what is done.
///
/// With a target of the job's own there is no floor to guess: it is reached when the curve is there, until it
/// is 0.03 short of it again.
class OutlookTracker {
 public:
  /// From a curve that is fitted, with `done` iterations reported. Never throws.
  Outlook update(const LossCurve& curve, double done, const OutlookOptions& options);

 private:
  double steadied(double fraction, double fall, double length);
  bool confirmed(double fraction, double near, double length, double confirmation,
                 const OutlookOptions& options);
  double near_since_ =
      -1;  ///< length of the run at which the fraction came near the target and stayed; -1: it is not near
  bool reached_ = false;
  double fraction_ = 0, whole_ = 0;  ///< means so far; whole: from the first loss to the floor
  double length_ = 0;                ///< at the last update; 0: there was none
};

/// Of a job that has not reported yet.
Outlook fresh_outlook(const OutlookOptions& options);

}  // namespace mlq
