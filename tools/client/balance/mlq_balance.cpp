// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/client/balance/mlq_balance.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "core/balance/policies.hpp"
#include "tools/client/balance/sampling_thread.hpp"
#include "tools/client/balance/speed_reporter.hpp"

namespace {

using namespace mlq::balance;

constexpr std::uint32_t kMaxRanks = 65536;
constexpr double kVersion = 2;
enum Field { kSeconds, kSize, kSpeed, kCpu, kMax, kHashLow, kHashHigh, kFormat };
static_assert(kFormat + 1 == MLQ_BALANCE_FIELDS);

/// Doubles carry whole numbers up to 2^53 exactly.
constexpr double kExact = 9007199254740992.0;

bool in_range(const mlq_balance_options& o) {
  return o.global_batch > 0 && static_cast<double>(o.global_batch) < kExact && o.ranks > 0 &&
         o.ranks <= kMaxRanks && o.rank < o.ranks && o.grain <= o.global_batch;
}

}  // namespace

struct mlq_balancer {
  explicit mlq_balancer(const mlq_balance_options& given)
      : policy_name(given.policy ? given.policy : "lb"),
        predictor(given.predictor ? given.predictor : "best"),
        rank(given.rank) {
    options = {.global_batch = given.global_batch,
               .ranks = given.ranks,
               .grain = given.grain ? given.grain : usual_grain(given.global_batch, given.ranks),
               .predictor = predictor};
    sizes.resize(options.ranks);
    seconds.resize(options.ranks);
    predicted.resize(options.ranks);
    if (policy_name == "lb") own_speed = make_speed_predictor(predictor);
    reporter = SpeedReporter::of_environment(given.rank, given.ranks);
    if (own_speed || reporter) sampling = SamplingThread::of_this_process();
    caps.resize(options.ranks);
    offsets.resize(options.ranks);
    restart();
  }

  void restart() {
    policy = make_sizing_policy(policy_name, options);
    if (policy) publish();
  }

  void publish() {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      offsets[i] = sum;
      sum += policy->sizes()[i];
    }
    hash = decision_hash(policy->sizes());
  }

  /// What every rank checks alike, since all see the same vectors.
  bool agreed(const double* all) const {
    const double low = static_cast<double>(hash & 0xffffffffu), high = static_cast<double>(hash >> 32);
    for (std::size_t i = 0; i < options.ranks; ++i) {
      const double* v = all + i * MLQ_BALANCE_FIELDS;
      if (v[kFormat] != kVersion || v[kHashLow] != all[kHashLow] || v[kHashHigh] != all[kHashHigh])
        return false;
      if (!std::isfinite(v[kSeconds]) || v[kSeconds] < 0 || !(v[kMax] >= 0)) return false;
      if (!(v[kSize] >= 0) || v[kSize] > kExact) return false;
      if (!std::isfinite(v[kSpeed]) || v[kSpeed] < 0) return false;
    }
    return all[kHashLow] == low && all[kHashHigh] == high;
  }

  /// What this rank expects of the next iteration, samples/s; `speed` > 0 is what became of the last one.
  double foresee(double speed) {
    if (!own_speed) return 0;
    if (speed > 0) own_speed->observe(state, speed);
    if (sampling) state = sampling->newest();
    return own_speed->predict(state);
  }

  int next(const double* all) {
    if (!agreed(all)) {
      restart();
      errno = EPROTO;
      return -1;
    }
    bool timed = true, capped = false;
    for (std::size_t i = 0; i < options.ranks; ++i) {
      const double* v = all + i * MLQ_BALANCE_FIELDS;
      if (v[kSeconds] > 0 && v[kSize] > 0) {
        seconds[i] = v[kSeconds];
        sizes[i] = static_cast<std::uint64_t>(v[kSize]);
      }
      timed = timed && seconds[i] > 0;
      predicted[i] = v[kSpeed];
      caps[i] = v[kMax] >= kExact ? UINT64_MAX : static_cast<std::uint64_t>(v[kMax]);
      capped = capped || caps[i] != UINT64_MAX;
    }
    if (timed)
      policy->next({.seconds = seconds,
                    .sizes = sizes,
                    .states = {},
                    .max_sizes = std::span(caps).first(capped ? caps.size() : 0),
                    .predicted = predicted});
    report(all);
    publish();
    return 0;
  }

  void report(const double* all) {
    if (!reporter || !sampling) return;
    const auto& here = reporter->ranks();
    for (std::size_t i = 0; i < here.size(); ++i) {
      const double* v = all + here[i] * MLQ_BALANCE_FIELDS;
      if (v[kSeconds] > 0 && v[kSize] > 0) reporter->add(i, v[kSeconds], v[kSize]);
    }
    if (std::string message = reporter->next(SpeedReporter::Clock::now()); !message.empty())
      sampling->post(std::move(message));
  }

  std::string policy_name, predictor;
  PolicyOptions options;
  std::uint32_t rank;
  std::unique_ptr<SizingPolicy> policy;
  std::vector<std::uint64_t> offsets, sizes, caps;
  std::vector<double> seconds;
  std::vector<double> predicted;
  std::unique_ptr<SpeedPredictor> own_speed;  ///< of this rank only: each foresees itself and tells
  std::shared_ptr<SamplingThread> sampling;
  std::unique_ptr<SpeedReporter> reporter;
  NodeState state{1, 0, 0};
  std::uint64_t hash = 0, max_size = UINT64_MAX;
};

extern "C" {

mlq_balancer* mlq_balance_create(const mlq_balance_options* options) {
  if (options == nullptr || !in_range(*options)) {
    errno = EINVAL;
    return nullptr;
  }
  try {
    auto balancer = std::make_unique<mlq_balancer>(*options);
    if (balancer->policy) return balancer.release();
    errno = EINVAL;
  } catch (...) {
    errno = ENOMEM;
  }
  return nullptr;
}

void mlq_balance_destroy(mlq_balancer* balancer) {
  delete balancer;
}

const uint64_t* mlq_balance_sizes(const mlq_balancer* balancer) {
  return balancer->policy->sizes().data();
}

const uint64_t* mlq_balance_offsets(const mlq_balancer* balancer) {
  return balancer->offsets.data();
}

void mlq_balance_set_max(mlq_balancer* balancer, uint64_t samples) {
  balancer->max_size = samples;
}

void mlq_balance_out_of_memory(mlq_balancer* balancer, uint64_t size) {
  balancer->max_size = std::min(balancer->max_size, size_after_out_of_memory(size));
}

void mlq_balance_vector(mlq_balancer* balancer, double seconds, uint64_t size, double* mine) {
  const bool timed = std::isfinite(seconds) && seconds > 0 && size > 0;
  const double speed = balancer->foresee(timed ? static_cast<double>(size) / seconds : 0);
  mine[kSeconds] = timed ? seconds : 0;
  mine[kSize] = timed ? static_cast<double>(size) : 0;
  mine[kSpeed] = speed;
  mine[kCpu] = balancer->state.cpu;
  mine[kMax] = balancer->max_size == UINT64_MAX ? kExact : static_cast<double>(balancer->max_size);
  mine[kHashLow] = static_cast<double>(balancer->hash & 0xffffffffu);
  mine[kHashHigh] = static_cast<double>(balancer->hash >> 32);
  mine[kFormat] = kVersion;
}

void mlq_balance_state(const mlq_balancer* balancer, double* cpu, double* memory, double* stall) {
  *cpu = balancer->state.cpu;
  *memory = balancer->state.memory;
  *stall = balancer->state.stall;
}

int mlq_balance_next(mlq_balancer* balancer, const double* all) {
  try {
    return balancer->next(all);
  } catch (...) {
    errno = ENOMEM;
    return -1;
  }
}

int mlq_balance_step(mlq_balancer* balancer, double seconds, uint64_t size, mlq_allgather_fn allgather,
                     void* context) {
  try {
    double mine[MLQ_BALANCE_FIELDS];
    std::vector<double> all(static_cast<std::size_t>(balancer->options.ranks) * MLQ_BALANCE_FIELDS);
    mlq_balance_vector(balancer, seconds, size, mine);
    if (allgather(mine, MLQ_BALANCE_FIELDS, all.data(), context) == 0) return balancer->next(all.data());
    errno = EIO;
  } catch (...) {
    errno = ENOMEM;
  }
  return -1;
}

int mlq_balance_split(const mlq_balancer* balancer, uint64_t samples, uint64_t* out) {
  // Cuts of the running sums: exact, monotone, and the same on every rank.
  const auto& sizes = balancer->policy->sizes();
  unsigned __int128 sum = 0;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sum += sizes[i];
    const auto cut = static_cast<std::uint64_t>(sum * samples / balancer->options.global_batch);
    out[i] = cut - before;
    before = cut;
  }
  return 0;
}

}  // extern "C"
