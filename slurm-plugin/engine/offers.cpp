// SPDX-License-Identifier: GPL-2.0-or-later
// Targets: from what the policy says to what each job is told.
#include <algorithm>
#include <cmath>

#include "slurm-plugin/engine/targets.hpp"

namespace mlq::engine {

/// A companion goes as a whole: who is to have less keeps what can't be given back without going below that.
void Targets::take_wishes() {
  for (Member& member : members_) {
    const std::uint32_t now = member.base + member.kept + member.claim;
    if (member.want >= now) {
      member.claim += member.want - now;
      continue;
    }
    const std::uint32_t unclaimed = std::min(member.claim, now - member.want);
    member.claim -= unclaimed;
    if (unclaimed < now - member.want) choose_leaving(member, member.want);
  }
}

void Targets::offer(double now, Companions& companions) {
  // what was claimed before comes before what is new: nobody is told of more only to be told of less
  std::vector<Member*> order;
  order.reserve(members_.size());
  for (Member& member : members_) order.push_back(&member);
  std::stable_sort(order.begin(), order.end(), [](const Member* a, const Member* b) {
    const auto fresh = [](const Member& m) { return m.base + m.kept + m.claim > m.job->plan.units; };
    return fresh(*a) < fresh(*b);
  });
  room_ = room_with_leaving();
  // What others are about to leave is asked for at once: the companion waits in the queue, behind everybody,
  // and starts as soon as they left. Where that may last longer than its agent waits, it is asked for when
  // they are gone.
  const bool ahead = config_.lead_s + Companions::backstop_s + Companions::kill_after_s < taken_up_s;
  std::vector<NodeRoom> idle(capacity_.now().begin(), capacity_.now().end());
  for (Member* member : order) {
    std::uint32_t packed = 0;
    std::vector<UnitPiece> later, now_idle;
    if (member->claim > 0 && !member->nodes.empty()) {
      later = pack(member->claim, size_of(*member), room_, member->nodes);
      for (const UnitPiece& piece : later) packed += piece.units;
      now_idle = pack(packed, size_of(*member), idle, member->nodes);
    }
    member->can_start = !now_idle.empty();
    std::vector<UnitPiece>& grants = member->job->plan.grants;
    grants = ahead ? std::move(later) : std::move(now_idle);
    if (grants.size() > max_grants) grants.resize(max_grants);
    finish(*member, packed, now, companions);
  }
}

void Targets::finish(Member& member, std::uint32_t packed, double now, Companions& companions) {
  Plan& plan = member.job->plan;
  const std::uint32_t before = plan.units;
  plan.units = member.base + member.kept + packed;
  if (plan.units != before) plan.since = now;
  if (!member.can_start) {
    plan.offered_at = -1;
  } else if (plan.units != before || plan.offered_at < 0) {
    plan.offered_at = now;
  }
  plan.reason = reason_for(member, before, now);
  if (plan.units != before) plan.change = plan.reason;
  plan.leave.clear();
  const std::string made_of = member.kind == Kind::gpus ? "GPUs" : "CPUs";
  for (const std::size_t piece : member.pieces) {
    Companion& companion = *lent_[piece].companion;
    if (leaving_[piece] == 0) {
      companions.may_stay(companion);
      continue;
    }
    plan.leave.push_back(companion.job_id);
    companions.must_leave(companion, now,
                          lent_[piece].wanted_by != 0
                              ? "job " + std::to_string(lent_[piece].wanted_by) + " waits for its " + made_of
                              : "its " + made_of + " are worth more in other jobs");
  }
}

std::string Targets::reason_for(const Member& member, std::uint32_t before, double now) const {
  const Plan& plan = member.job->plan;
  const bool gpus = member.kind == Kind::gpus;
  const std::string units =
      std::to_string(plan.units) + (gpus ? " GPU" : " unit") + (plan.units == 1 ? "" : "s");
  if (member.needed_by != 0)
    return units + ": job " + std::to_string(member.needed_by) + " could start with " +
           (gpus ? "GPUs or CPUs" : "CPUs") + " lent to this one";
  if (before > 0 && plan.units > before)
    return units + ", before " + std::to_string(before) + ": that pays for the move within the horizon";
  if (before > 0 && plan.units < before)
    return units + ", before " + std::to_string(before) + ": the others are worth more elsewhere";
  if (plan.units > plan.held)
    return units + ": " + std::to_string(plan.units - plan.held) + " more than it has are offered";
  if (!member.brake.empty()) return units + ", no growth: " + member.brake;
  if (plan.units >= most_units(member)) return units + ": it asks for no more";
  if (plan.since >= 0 && now - plan.since < config_.dwell_s)
    return units + ": its size changed " + std::to_string(std::lround(now - plan.since)) +
           " s ago and is kept for mlq_dwell=" + std::to_string(config_.dwell_s) + " s";
  if (!member.job->speed().known()) return units + ": how fast it is has not been seen yet";
  if (member.want > plan.units) return units + ": more would pay, but no node has room for another unit";
  return units + ": another one, if there is one idle, would not pay for the move";
}

}  // namespace mlq::engine
