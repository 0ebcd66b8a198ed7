// SPDX-License-Identifier: GPL-2.0-or-later
// Of group.cpp and group_moves.cpp.
#pragma once

#include "tools/mlq/run/group.hpp"

namespace mlq::run {

inline bool in_group(const Member& member) {
  return member.state == MemberState::active;
}
/// Of the base allocation, and not left.
inline bool of_base(const Member& member) {
  return member.base && member.state != MemberState::gone;
}
inline bool running(const Member& member) {
  return member.state == MemberState::active || member.state == MemberState::leaving;
}
inline bool there(const Member& member) {
  return member.state != MemberState::gone;
}
inline bool is_stopped(const Member& member) {
  return member.stopped;
}
inline Message simple(Kind kind) {
  Message message;
  message.kind = kind;
  return message;
}
inline double seconds_since(Clock::time_point time) {
  return Seconds(Clock::now() - time).count();
}

}  // namespace mlq::run
