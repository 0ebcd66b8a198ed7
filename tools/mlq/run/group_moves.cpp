// SPDX-License-Identifier: GPL-2.0-or-later
// How the group goes from one generation to the next.
#include <algorithm>
#include <csignal>

#include "tools/mlq/run/group_parts.hpp"

namespace mlq::run {
namespace {

/// Only these are told to stop: what a newcomer without ranks answered would come late, when it has some.
bool has_ranks(const Member& member) {
  return running(member) && !member.stopped;
}

}  // namespace

void Group::move(bool lost) {
  if (over()) return;
  loop_.cancel(gather_timer_);
  loop_.cancel(settle_timer_);
  const std::int64_t before = world_;
  if (!moving_) move_began_ = Clock::now();
  moving_ = true;
  ++generation_;
  for (const auto& member : members_)
    if (member->state == MemberState::ready) set(*member, MemberState::active);
  if (elastic_) {
    phase_ = lost || std::any_of(members_.begin(), members_.end(),
                                 [](const auto& m) { return m->state == MemberState::leaving; })
                 ? "shrinking"
                 : "growing";
    move_in_process(lost);
    hooks_.say("generation " + std::to_string(generation_) + ": " + std::to_string(before) + " -> " +
               std::to_string(world_) + " ranks");
  } else {
    phase_ = "restarting";
    move_by_restart();
  }
  hooks_.changed();
}

void Group::move_in_process(bool lost) {
  stood_still_ = 0;
  Message leave = simple(Kind::reform);
  leave.generation = generation_;
  leave.seconds = options_.lead;
  for (const auto& member : members_) {
    if (member->state != MemberState::leaving) continue;
    member->told = true;
    member->send(leave);
  }
  Message order = placement(Kind::reform);
  order.flag = lost;
  order.seconds = options_.lead;
  for (const auto& member : members_) {
    if (!in_group(*member)) continue;
    order.ranks = member->ranks;
    member->done = 0;
    member->formed = member->stopped = false;
    member->send(order);
    order.rank += member->ranks;
  }
}

void Group::move_by_restart() {
  Message stop = simple(Kind::stop);
  stop.number = SIGTERM;
  stop.seconds = options_.grace;
  if (options_.resize_signal == 0) {
    send_all(has_ranks, stop);
  } else if (!lead_timer_) {
    Message warning = simple(Kind::signal);
    warning.number = options_.resize_signal;
    send_all(has_ranks, warning);
    lead_timer_ = loop_.after(Seconds(options_.lead), [this, stop] {
      lead_timer_ = 0;
      send_all(has_ranks, stop);
    });
  }
  restart_when_stopped();
}

void Group::restart_when_stopped() {
  if (!moving_ || elastic_ || ending_ || !all(running, is_stopped)) return;
  loop_.cancel(lead_timer_);
  for (const auto& member : members_)
    if (member->state == MemberState::leaving) {
      member->send(simple(Kind::leave));
      set(*member, MemberState::gone);
      hooks_.gone(*member, "");
    }
  for (const auto& member : members_)
    if (member->state == MemberState::ready) set(*member, MemberState::active);
  place(Kind::start);
  hooks_.say("generation " + std::to_string(generation_) + ": started anew with " + std::to_string(world_) +
             " ranks");
  moved(seconds_since(move_began_));
}

void Group::moved(double seconds) {
  moving_ = false;
  phase_ = "steady";
  ++moves_;
  move_s_ = seconds;
  lost_s_ += seconds;
  hooks_.changed();
  loop_.defer([this] { consider(); });
}

void Group::on_formed(Member& member, const Message& message) {
  if (!moving_ || !elastic_ || message.generation != generation_) return;
  member.formed = true;
  stood_still_ = std::max(stood_still_, message.seconds);
  if (all(in_group, [](const Member& m) { return m.formed; })) moved(stood_still_);
}

}  // namespace mlq::run
