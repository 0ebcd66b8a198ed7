// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/balance/replay.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mlq::balance {
namespace {

NodeState state_of(const SpeedTrace& trace, std::size_t iteration, std::size_t worker) {
  return iteration < trace.states.size() ? trace.states[iteration][worker] : NodeState{};
}

}  // namespace

double prediction_rmse(const SpeedTrace& trace, std::string_view predictor, std::size_t skip) {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t worker = 0; worker < trace.workers.size(); ++worker) {
    const auto model = make_speed_predictor(predictor);
    if (!model) return NAN;
    double mean = 0;
    for (const auto& row : trace.speeds) mean += row[worker] / static_cast<double>(trace.speeds.size());
    for (std::size_t k = 0; k < trace.speeds.size(); ++k) {
      const NodeState state = state_of(trace, k, worker);
      const double predicted = model->predict(state), speed = trace.speeds[k][worker];
      if (k >= skip) {
        const double error = (predicted - speed) / mean;
        sum += error * error;
        ++count;
      }
      model->observe(state, speed);
    }
  }
  return count == 0 ? NAN : std::sqrt(sum / static_cast<double>(count));
}

PolicyReplay replay_policy(const SpeedTrace& trace, std::string_view policy, const PolicyOptions& options) {
  PolicyReplay result;
  const auto sizing = make_sizing_policy(policy, options);
  if (!sizing || trace.speeds.empty()) return result;
  const Sizes equal = equal_split(options.global_batch, options.ranks);
  std::vector<double> seconds(options.ranks);
  std::vector<NodeState> states(options.ranks);
  double total = 0, total_equal = 0, total_ideal = 0;
  for (std::size_t k = 0; k < trace.speeds.size(); ++k) {
    const auto& speeds = trace.speeds[k];
    double longest = 0, longest_equal = 0;
    for (std::size_t i = 0; i < options.ranks; ++i) {
      seconds[i] = static_cast<double>(sizing->sizes()[i]) / speeds[i];
      longest = std::max(longest, seconds[i]);
      longest_equal = std::max(longest_equal, static_cast<double>(equal[i]) / speeds[i]);
      states[i] = state_of(trace, std::min(k + 1, trace.speeds.size() - 1), i);
    }
    total += longest;
    total_equal += longest_equal;
    total_ideal +=
        static_cast<double>(options.global_batch) / std::accumulate(speeds.begin(), speeds.end(), 0.0);
    const Sizes before = sizing->sizes();
    sizing->next({.seconds = seconds, .sizes = {}, .states = states, .max_sizes = {}});
    result.changes += before != sizing->sizes();
  }
  result.mean_iteration = total / static_cast<double>(trace.speeds.size());
  result.time_vs_equal = total / total_equal;
  result.fraction_of_ceiling = total_ideal / total;
  return result;
}

}  // namespace mlq::balance
