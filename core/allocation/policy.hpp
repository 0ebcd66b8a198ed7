// SPDX-License-Identifier: GPL-2.0-or-later
// Who gets how much: one abstract policy, one factory; the engine and the simulator call the same code.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/allocation/allocator.hpp"
#include "core/allocation/outlook.hpp"
#include "core/allocation/settle.hpp"
#include "core/throughput/rate_model.hpp"

namespace mlq {

/// One job as a policy sees it. Pointers may be null; they belong to the caller.
struct JobView {
  UnitRequest request;  ///< policies set floor and rank themselves
  Holding held;
  double arrival = 0;   ///< seconds
  double attained = 0;  ///< core-seconds so far; 0 while it holds cores: not known, it is never overdue
  double waiting = 0;   ///< seconds since it last held anything; 0 while it holds something
  RateModel rate;       ///< learnt
  const Outlook* outlook = nullptr;          ///< from reports; null: none so far
  const TwoPointForecast* recent = nullptr;  ///< for slaq
  const Outlook* truth = nullptr;            ///< for oracle and srtf, which only a simulation can serve
  RateModel true_rate;
};

struct ClusterView {
  double now = 0;       ///< seconds
  double horizon = 60;  ///< seconds until a decision is expected to be made again, > 0
  std::span<const Pool> pools;
  std::span<const JobView> jobs;
  std::span<const std::uint32_t> account_caps;  ///< cores by account; empty: none
};

struct PolicyOptions {
  SettleOptions settle;  ///< horizon here: over which moves must pay
  double tail = 0.4;     ///< mlq_tail: worth of finishing a job beside worth 1 of bringing it to its target
  double tail_age_power =
      0.2;  ///< how much of the tail goes by age: 0 none, 1 nearly first come, first served
  /// mlq: a job is overdue once equal shares would have done (1 + slack) times its work and, on top, what
  /// they do in `grace` times the time that jobs stay here; overdue jobs get at least an equal share. >= 0;
  /// infinite: no bound.
  double slack = 0.25, grace = 2;
  double explore_share = 0.25;   ///< of the capacity, the most that new jobs get to show themselves
  double explore_seconds = 120;  ///< after which a job that has not reported is no longer new
};

class Policy {
 public:
  explicit Policy(const PolicyOptions& options) : options_(options) {}
  virtual ~Policy() = default;
  virtual std::string_view name() const = 0;
  /// Whether it looks at JobView::outlook, which costs its maker fits.
  virtual bool reads_curves() const { return false; }
  /// Units per job, in the order of view.jobs. Deterministic. Reuses its buffers.
  const Allocation& decide(const ClusterView& view);

 protected:
  /// Objective::value is per second where settle() is to price moves with it.
  virtual const Objective& prepare(const ClusterView& view, std::vector<UnitRequest>& requests,
                                   AllocatorOptions& options) = 0;
  /// Whether moves are priced; the policies of the literature take them as free.
  virtual bool settles() const { return false; }
  const PolicyOptions& options() const { return options_; }

 private:
  PolicyOptions options_;
  std::vector<UnitRequest> requests_;
  std::vector<Holding> held_;
  Allocator allocator_;
  Allocation allocation_;
};

/// mlq, slaq, maxmin, fair, fifo, las, srtf, oracle.
std::span<const std::string_view> policy_names();
/// Null for a name not in policy_names().
std::unique_ptr<Policy> make_policy(std::string_view name, const PolicyOptions& options = {});

}  // namespace mlq
