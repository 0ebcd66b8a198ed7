// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/group.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>

#include "tools/mlq/run/group_parts.hpp"
#include "tools/mlq/run/port.hpp"

namespace mlq::run {
namespace {

constexpr double kSettle =
    2;  ///< a worker that fails may do so because a node was lost, which is known a moment later
constexpr double kGather = 10;  ///< companions that are nearly ready come with the same move
constexpr double kStopLimit = 5;
constexpr double kCompanionsEnd = 10;  ///< for companions to end by themselves after the base

std::string ended_how(const Message& message) {
  if (message.number > 0)
    return "was ended by signal " + std::to_string(message.number) + " (" +
           strsignal(static_cast<int>(message.number)) + ")";
  return "ended with exit code " + std::to_string(message.status);
}

}  // namespace

Group::Group(Loop& loop, GroupOptions options, GroupHooks hooks)
    : loop_(loop), options_(std::move(options)), hooks_(std::move(hooks)) {}

Group::~Group() {
  for (Loop::Timer* timer : {&end_timer_, &lead_timer_, &settle_timer_, &gather_timer_}) loop_.cancel(*timer);
}

Member& Group::add(Member member) {
  members_.push_back(std::make_unique<Member>(std::move(member)));
  return *members_.back();
}

void Group::sweep() {
  std::erase_if(members_, [](const auto& member) { return !member->base && !there(*member); });
}

void Group::set(Member& member, MemberState state) {
  member.state = state;
  member.since = Clock::now();
}

bool Group::all(const Filter& which, const Filter& holds) const {
  return std::all_of(members_.begin(), members_.end(),
                     [&](const auto& member) { return !which(*member) || holds(*member); });
}

void Group::send_all(const Filter& which, const Message& message) {
  for (const auto& member : members_)
    if (which(*member)) member->send(message);
}

std::int64_t Group::units() const {
  std::int64_t sum = 0;
  for (const auto& member : members_)
    if (there(*member)) sum += member->units;
  return sum;
}

Message Group::placement(Kind kind) {
  Message order = simple(kind);
  order.generation = generation_;
  order.address = options_.address;
  order.port = free_port();
  for (const auto& member : members_) {
    if (!in_group(*member)) continue;
    order.world += member->ranks;
    order.units += member->units;
    order.cores += member->cores;
  }
  world_ = order.world;
  return order;
}

/// The base first, then companions in the order in which they came: rank 0 stays where it is.
void Group::place(Kind kind) {
  Message order = placement(kind);
  for (const auto& member : members_) {
    if (!in_group(*member)) continue;
    order.ranks = member->ranks;
    member->done = 0;
    member->formed = false;
    member->stopped = false;
    member->send(order);
    order.rank += member->ranks;
  }
}

void Group::start() {
  generation_ = 1;
  for (const auto& member : members_)
    if (member->base) set(*member, MemberState::active);
  place(Kind::start);
  hooks_.changed();
}

void Group::admit(Member& member) {
  if (elastic_) {
    Message order = placement_of_joiner(member);
    member.stopped = false;
    member.send(order);
  } else {
    set(member, MemberState::ready);
    consider();
  }
  hooks_.changed();
}

/// What the first reform will say is not known yet; MLQ_JOINING tells its workers to wait for it.
Message Group::placement_of_joiner(const Member& member) const {
  Message order = simple(Kind::start);
  order.generation = generation_;
  order.rank = world_;
  order.ranks = member.ranks;
  order.world = world_ + member.ranks;
  order.address = options_.address;
  order.flag = true;
  return order;
}

void Group::take(Member& member, const Message& message) {
  switch (message.kind) {
    case Kind::attached:
      member.attached = true;
      // once the base re-forms in its processes, so do the companions: they run the same program
      if (!elastic_ && all(of_base, [](const Member& m) { return m.attached; })) {
        elastic_ = true;
        hooks_.changed();
      }
      break;
    case Kind::ready:
      if (member.state == MemberState::joining) set(member, MemberState::ready);
      consider();
      break;
    case Kind::formed:
      on_formed(member, message);
      break;
    case Kind::exited:
      on_exit(member, message);
      break;
    case Kind::stopped:
      on_stopped(member);
      break;
    case Kind::leaving:
      if (!member.base && there(member)) lose(member, message.text);
      break;
    default:
      break;
  }
}

void Group::consider() {
  if (ending_ || moving_ || saving() || generation_ == 0 || over()) return;
  bool due = false, gathering = false, leaving = false;
  for (const auto& member : members_) {
    leaving = leaving || (member->state == MemberState::leaving && !member->told);
    due = due || member->state == MemberState::ready;
    gathering =
        gathering || (member->state == MemberState::joining && seconds_since(member->since) < kGather);
  }
  loop_.cancel(gather_timer_);
  if (leaving || (due && !gathering))
    move(false);
  else if (due)
    gather_timer_ = loop_.after(Seconds(1), [this] { gather_timer_ = 0, consider(); });
}

void Group::on_exit(Member& member, const Message& message) {
  if (ending_ || member.state == MemberState::gone) return;
  const bool restarting = (moving_ && !elastic_) || saving();
  if (restarting || member.state == MemberState::leaving) return;
  if (message.status == 0) {
    ++member.done;
    on_well_ended();
    return;
  }
  const int code = static_cast<int>(message.status);
  const std::string what =
      "rank " + std::to_string(message.rank) + " on " + member.name + " " + ended_how(message);
  if (!member.base && !terminating_) {
    lose(member, what);
    return;
  }
  const bool others =
      std::any_of(members_.begin(), members_.end(), [](const auto& m) { return !m->base && in_group(*m); });
  if (!options_.restart || elastic_ || terminating_ || !others) {
    fail(code, what);
  } else if (!settle_timer_) {
    settle_timer_ = loop_.after(Seconds(kSettle), [this, code, what] {
      settle_timer_ = 0;
      fail(code, what);
    });
  }
}

/// A rank of the base came to its end: whoever re-formed now would wait for it in vain.
bool Group::over() const {
  return !all(of_base, [](const Member& m) { return m.done == 0 || m.state == MemberState::leaving; });
}

/// The training is over when the base is: companions that came too late for its last iteration wait in vain.
void Group::on_well_ended() {
  const auto done = [](const Member& m) { return m.done >= m.ranks; };
  if (all(in_group, done)) {
    finish(0);
  } else if (!settle_timer_ && all(of_base, done)) {
    settle_timer_ = loop_.after(Seconds(moving_ ? 1 : kCompanionsEnd), [this] {
      settle_timer_ = 0;
      finish(0);
    });
  }
}

void Group::on_stopped(Member& member) {
  member.stopped = true;
  if (ending_) {
    end_when_stopped();
  } else if (saving()) {
    saved_when_stopped();
  } else if (member.state == MemberState::leaving && (elastic_ || !moving_)) {
    member.send(simple(Kind::leave));
    set(member, MemberState::gone);
    hooks_.gone(member, "");
    consider();
  } else {
    restart_when_stopped();
  }
}

void Group::lose(Member& member, const std::string& why) {
  if (!there(member)) return;
  const MemberState before = member.state;
  member.send(simple(Kind::leave));
  set(member, MemberState::gone);
  if (ending_) {
    end_when_stopped();
    return;
  }
  if (member.base && before != MemberState::leaving) {
    fail(1, member.name + " of the base allocation was lost: " + why);
    return;
  }
  hooks_.say(std::string(member.base ? "" : "companion on ") + member.name + " was lost: " + why);
  hooks_.gone(member, why);
  if (before == MemberState::active && generation_ > 0)
    move(true);
  else
    restart_when_stopped();
}

void Group::release(std::span<Member* const> members) {
  bool moves = false;
  for (Member* member : members) {
    if (member->base || member->state == MemberState::leaving || !there(*member)) continue;
    if (member->state == MemberState::active) {
      set(*member, MemberState::leaving);
      moves = true;
      continue;
    }
    member->send(simple(Kind::leave));
    set(*member, MemberState::gone);
    hooks_.gone(*member, "");
  }
  if (moves) consider();
}

void Group::release(Member& member) {
  Member* one = &member;
  release({&one, 1});
}

void Group::signal(int number) {
  terminating_ = terminating_ || number == SIGTERM || number == SIGINT || number == SIGHUP;
  Message message = simple(Kind::signal);
  message.number = number;
  send_all(running, message);
}

void Group::fail(int code, const std::string& why) {
  if (ending_) return;
  hooks_.say(why + "; the group is ended");
  finish(code);
}

void Group::finish(int code) {
  if (ending_) return;
  ending_ = true;
  code_ = code;
  phase_ = "ending";
  for (Loop::Timer* timer : {&lead_timer_, &settle_timer_, &gather_timer_}) loop_.cancel(*timer);
  hooks_.changed();
  Message stop = simple(Kind::stop);
  stop.number = SIGTERM;
  stop.seconds = options_.grace;
  for (const auto& member : members_) {
    member->stopped = false;
    if (there(*member)) member->send(stop);
  }
  end_timer_ = loop_.after(Seconds(options_.grace + kStopLimit), [this] {
    end_timer_ = 0;
    for (const auto& member : members_) member->stopped = true;
    end_when_stopped();
  });
  end_when_stopped();
}

void Group::end_when_stopped() {
  if (told_ || !all(there, is_stopped)) return;
  told_ = true;
  loop_.cancel(end_timer_);
  send_all(there, simple(Kind::leave));
  hooks_.finished(code_);
}

}  // namespace mlq::run
