// SPDX-License-Identifier: GPL-2.0-or-later
// The group before its job is requeued: all ranks save and end, and none is started again.
#include <algorithm>
#include <csignal>

#include "tools/mlq/run/group_parts.hpp"

namespace mlq::run {

bool Group::save(double seconds) {
  if (saving() || moving_ || ending_ || terminating_ || generation_ == 0 || over()) return false;
  loop_.cancel(gather_timer_);
  loop_.cancel(settle_timer_);
  save_ = Save::asked;
  go_on_ = false;
  phase_ = "saving";
  move_began_ = Clock::now();
  Message stop = simple(Kind::stop);
  stop.number = SIGTERM;
  stop.seconds = std::min(options_.grace, seconds);
  if (options_.resize_signal == 0) {
    stop.seconds = seconds;
    send_all(running, stop);
  } else {
    Message warning = simple(Kind::signal);
    warning.number = options_.resize_signal;
    send_all(running, warning);
    lead_timer_ = loop_.after(Seconds(seconds - stop.seconds), [this, stop] {
      lead_timer_ = 0;
      send_all([](const Member& m) { return running(m) && !m.stopped; }, stop);
    });
  }
  hooks_.say("told to save, for the job is to be requeued at another size");
  hooks_.changed();
  saved_when_stopped();
  return true;
}

std::size_t Group::base_nodes() const {
  return static_cast<std::size_t>(
      std::count_if(members_.begin(), members_.end(), [](const auto& member) { return of_base(*member); }));
}

void Group::keep_base(std::size_t keep) {
  if (ending_ || saving() || generation_ == 0 || !can_move() || over()) return;
  std::size_t have = 0;
  for (const auto& member : members_) have += of_base(*member) && member->state != MemberState::leaving;
  bool any = false;
  for (auto at = members_.rbegin(); at != members_.rend() && have > std::max<std::size_t>(1, keep); ++at) {
    if (!of_base(**at) || (*at)->state != MemberState::active) continue;
    set(**at, MemberState::leaving);
    any = true;
    --have;
  }
  if (any) consider();
}

void Group::saved_when_stopped() {
  if (save_ != Save::asked || !all(running, is_stopped)) return;
  loop_.cancel(lead_timer_);
  save_ = Save::done;
  phase_ = "saved";
  hooks_.changed();
  if (go_on_) go_on();
}

void Group::go_on() {
  if (save_ == Save::asked) go_on_ = true;
  if (save_ != Save::done || ending_) return;
  save_ = Save::no;
  go_on_ = false;
  ++generation_;
  place(Kind::start);
  hooks_.say("the job is not requeued: started anew with " + std::to_string(world_) + " ranks");
  moved(seconds_since(move_began_));
}

}  // namespace mlq::run
