// SPDX-License-Identifier: GPL-2.0-or-later
// The policies behind make_policy().
#pragma once

#include <string_view>
#include <vector>

#include "core/allocation/fair_clock.hpp"
#include "core/allocation/policy.hpp"

namespace mlq {

/// mlq and oracle: jobs short of their target by the least work to it, then jobs by the least work to their
/// end, `tail` saying how the two compare. A job's worth per second is rate(cores) / iterations to its target
/// plus tail * rate(cores) / iterations to its end: what it buys of its marks. With linear scaling that is
/// shortest remaining work first; where scaling flattens, the marginal unit goes elsewhere. Where nobody
/// knows the end of a job, shortest first is half a guess, and what goes by it would make all that are large
/// wait: there the end counts half, age (in stays that are usual here) by a power that is greater by 0.35,
/// and grace half as much again.
///
/// Whoever falls too far behind what equal shares would have given it (FairClock) is overdue and holds at
/// least an equal share before anything is auctioned. All jobs together could hold theirs, so there is always
/// room: with free moves no job ends later than when equal shares would have done (1 + slack) times its work
/// and `grace` typical stays more, as long as the number of jobs does not exceed that under equal shares. The
/// work is what is done and what is left; where the end is not known, at most as much again as was done.
class QualityPolicy final : public Policy, private Objective {
 public:
  enum class Knows { reports, truth };
  QualityPolicy(const PolicyOptions& options, Knows knows) : Policy(options), knows_(knows) {}
  std::string_view name() const override { return knows_ == Knows::truth ? "oracle" : "mlq"; }
  bool reads_curves() const override { return knows_ == Knows::reports; }

 private:
  struct Term {
    RateModel rate;
    double weight = 0;
    double unit = 1;
  };
  const Objective& prepare(const ClusterView& view, std::vector<UnitRequest>& requests,
                           AllocatorOptions& options) override;
  bool settles() const override { return true; }
  double value(std::size_t job, double units) const override;
  Term term_of(const JobView& job, double now) const;
  const Outlook* outlook_of(const JobView& job) const {
    return knows_ == Knows::truth ? job.truth : job.outlook;
  }
  bool overdue(const JobView& job, const Term& term, double fair_service) const;
  double set_explorers(const ClusterView& view, std::vector<UnitRequest>& requests, double capacity);
  void set_floors(const ClusterView& view, std::vector<UnitRequest>& requests, double capacity);

  Knows knows_;
  FairClock clock_;
  std::vector<Term> terms_;
  std::vector<std::size_t> new_, late_;  ///< indices of jobs
};

/// SLAQ as its authors had it (papers: SLAQ, sections 3.3 and 5.2): a job with at most one loss gets
/// floor(C/J) and stays out of the auction; the others one unit at a time by the two-point forecast over the
/// coming epoch. Moves are free.
class SlaqPolicy final : public Policy, private Objective {
 public:
  using Policy::Policy;
  std::string_view name() const override { return "slaq"; }

 private:
  const Objective& prepare(const ClusterView& view, std::vector<UnitRequest>& requests,
                           AllocatorOptions& options) override;
  double value(std::size_t job, double units) const override;
  double density(std::size_t job, double from, double to, double cores) const override;
  const ClusterView* view_ = nullptr;
};

/// Raises the job whose predicted quality after the horizon is lowest.
class MaxMinPolicy final : public Policy, private Objective {
 public:
  using Policy::Policy;
  std::string_view name() const override { return "maxmin"; }
  bool reads_curves() const override { return true; }

 private:
  const Objective& prepare(const ClusterView& view, std::vector<UnitRequest>& requests,
                           AllocatorOptions& options) override;
  double value(std::size_t job, double units) const override;
  double density(std::size_t job, double from, double to, double cores) const override;
  const ClusterView* view_ = nullptr;
  double fair_cores_ = 1;
};

/// Equal cores, work-conserving: SLAQ's own baseline.
class FairPolicy final : public Policy, private Objective {
 public:
  using Policy::Policy;
  std::string_view name() const override { return "fair"; }

 private:
  const Objective& prepare(const ClusterView& view, std::vector<UnitRequest>& requests,
                           AllocatorOptions& options) override;
  double value(std::size_t job, double units) const override;
  double density(std::size_t job, double from, double to, double cores) const override;
  const ClusterView* view_ = nullptr;
};

/// One job after the other gets all it can use: fifo, least attained service (in levels of a factor of two,
/// equals sharing), shortest remaining work (true).
class OrderPolicy final : public Policy, private Objective {
 public:
  enum class By { arrival, attained, remaining };
  OrderPolicy(const PolicyOptions& options, By by) : Policy(options), by_(by) {}
  std::string_view name() const override;

 private:
  const Objective& prepare(const ClusterView& view, std::vector<UnitRequest>& requests,
                           AllocatorOptions& options) override;
  double value(std::size_t job, double units) const override;
  By by_;
  std::vector<double> worth_;  ///< per unit
};

}  // namespace mlq
