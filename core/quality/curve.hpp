// SPDX-License-Identifier: GPL-2.0-or-later
// One job's loss curve: what was reported, what is predicted of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace mlq {

/// One reported loss. `loss` may be NaN or infinite (divergence); `iteration` may repeat or jump back (a
/// resumed run).
struct LossPoint {
  double iteration = 0;  ///< the trainer's own iteration count, finite
  double loss = 0;       ///< in the trainer's units; for goal=max the metric as reported
  double time = 0;       ///< seconds since the epoch, as the reporter says
  double cores = 0;      ///< size of the allocation at that time; 0 = unknown
};

enum class Goal : std::uint8_t { min, max };

/// What the curve looks like now; the first thing a person reads about a prediction.
enum class Verdict : std::uint8_t {
  no_data,    ///< fewer points than a prediction needs
  improving,  ///< a trend was found and its prediction held in back-tests
  noisy,      ///< falls, but the noise is larger than the predicted change
  plateau,    ///< no change worth predicting
  rising,     ///< the loss grows
  diverged,   ///< the newest losses are not finite
  constant,   ///< every loss the same
};
std::string_view to_string(Verdict) noexcept;

/// Loss after some further iterations, in the trainer's units.
struct Forecast {
  double now = 0;  ///< smoothed present
  double predicted = 0;
  double lower = 0;  ///< 80 % interval
  double upper = 0;
  const char* model = "";  ///< name of the model that was chosen, static storage
  Verdict verdict = Verdict::no_data;
};

/// What a predicted reduction is divided by, so that jobs of any loss scale compare.
enum class Normalisation : std::uint8_t {
  reachable,  ///< first loss minus estimated floor (or the target): independent of how often a job reports
  slaq,       ///< the largest fall between two reports so far (SLAQ, section 2); gains may exceed 1
};

struct Tuning;

struct CurveOptions {
  Goal goal = Goal::min;
  double target_loss = 0;  ///< used when has_target_loss
  bool has_target_loss = false;
  std::size_t capacity = 4096;  ///< points kept; older ones are thinned, never the first or the newest
  Normalisation normalisation = Normalisation::reachable;
  const Tuning* tuning = nullptr;  ///< other constants of the predictor than its own; must outlive the curve
};

/// History, fit and prediction of one job. No call throws on bad data, and no result is NaN or infinite.
/// Not thread-safe; cheap to move.
class LossCurve {
 public:
  explicit LossCurve(CurveOptions options = {});
  ~LossCurve();
  LossCurve(LossCurve&&) noexcept;
  LossCurve& operator=(LossCurve&&) noexcept;

  /// Takes a point in; a step that does not advance replaces the tail before it. Returns false when the
  /// point was refused (iteration not finite or beyond 1e18).
  bool add(const LossPoint& point);

  /// Fits what was added since the last call; does nothing when nothing was. Bounded time.
  void refit();

  /// Loss `iterations_ahead` (>= 0, may be fractional) after the newest iteration.
  Forecast forecast(double iterations_ahead) const;

  /// Expected normalised reduction over the next `iterations_ahead` iterations, in [0, 1]: predicted
  /// reduction over the reachable reduction (first loss minus estimated floor, or the target). 0 when
  /// nothing can be said or the loss does not fall. Never decreasing in `iterations_ahead`. A few ns.
  /// With Normalisation::slaq in units of the largest drop, up to 1e9.
  double gain(double iterations_ahead) const;

  /// Share of the reachable reduction already achieved, in [0, 1].
  double fraction_reached() const;

  std::size_t size() const;
  double first_loss() const;
  double last_loss() const;  ///< newest finite loss, as reported
  double best_loss() const;
  double last_iteration() const;
  double length() const;   ///< iterations from the first report on, that one included; 0 before it
  double spacing() const;  ///< usual iterations from one report to the next, > 0; 1 before the first refit
  double last_time() const;
  Verdict verdict() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mlq
