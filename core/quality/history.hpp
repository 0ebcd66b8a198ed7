// SPDX-License-Identifier: GPL-2.0-or-later
// What a job reported, kept small: resumed tails replaced, old points thinned, goal=max negated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mlq {

/// Points in rising order of iterations. A cost is what falls when the job does well: the loss, or minus the
/// metric for goal=max. A cost that is not a usable number (NaN, infinite, beyond 1e150) is kept as NaN.
class History {
 public:
  static constexpr double kLargestCost = 1e150;  ///< squares and sums of such numbers stay finite
  static constexpr double kLargestIteration = 1e18;

  History(std::size_t capacity, bool negate);

  /// False when the iteration is not finite or beyond kLargestIteration. A point whose iteration does not
  /// advance first removes every point at or after it (a resumed run).
  bool add(double iteration, double loss, double time);

  std::size_t size() const { return iterations_.size(); }
  double iteration(std::size_t i) const { return iterations_[i]; }
  double cost(std::size_t i) const { return costs_[i]; }
  double sign() const { return sign_; }

  /// The next four are 0 while no finite cost is known.
  bool any() const { return finite_ > 0; }
  double first_cost() const { return first_; }
  double last_cost() const { return last_; }
  double best_cost() const { return best_; }
  double worst_cost() const { return worst_; }
  double last_iteration() const { return iterations_.empty() ? 0 : iterations_.back(); }
  double last_time() const { return time_; }

  /// Largest fall from one finite cost to the next, SLAQ's D (section 2); 0 when none fell.
  double largest_drop() const { return largest_drop_; }

  /// Non-finite costs at the end, and in the longest stretch before the last finite one.
  std::size_t trailing_bad() const { return trailing_bad_; }
  std::size_t longest_inner_bad() const { return longest_inner_bad_; }

  /// Changes with every accepted point.
  std::uint64_t version() const { return version_; }

 private:
  void note(double cost);
  void recount();
  void thin();

  std::size_t capacity_;
  double sign_;
  std::vector<double> iterations_, costs_;
  std::size_t finite_ = 0, trailing_bad_ = 0, longest_inner_bad_ = 0;
  double first_ = 0, last_ = 0, best_ = 0, worst_ = 0, largest_drop_ = 0, time_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace mlq
