// SPDX-License-Identifier: GPL-2.0-or-later
// The group of workers over all nodes: who is in it, its generations, and how it goes from one to the next.
//
// A move has one of two ways. In process: every agent hands the new places to its workers, which re-form
// between two iterations and say formed. By restart: all workers are stopped, and started anew at the new
// size.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tools/mlq/run/loop.hpp"
#include "tools/mlq/run/message.hpp"

namespace mlq::run {

enum class MemberState {
  joining,  ///< its workers start
  ready,    ///< its workers wait for the next move
  active,   ///< in the group
  leaving,  ///< in the group, or on its way out of it
  gone
};

/// One node: of the base allocation, or a companion.
struct Member {
  using Send = std::function<void(const Message&)>;
  std::int64_t ticket = 0;
  bool base = false;
  std::int64_t job = 0, units = 0, cores = 0, ranks = 0;
  std::string name;  ///< for messages
  std::string host;  ///< of a base node, as Slurm names it
  Send send;
  MemberState state = MemberState::joining;
  Clock::time_point since = Clock::now();  ///< of the state
  std::int64_t done = 0;                   ///< workers that ended well
  bool attached = false, formed = false, stopped = true;
  bool told = false;  ///< to leave, by a reform without ranks
};

struct GroupOptions {
  std::string address;  ///< MASTER_ADDR
  bool restart = false;
  int resize_signal = 0;  ///< 0 = none
  double lead = 30;       ///< seconds
  double grace = 30;
};

struct GroupHooks {
  std::function<void(const std::string&)> say;  ///< a line for people
  std::function<void()> changed;                ///< size, phase or generation
  std::function<void(const Member&, const std::string& why)>
      gone;  ///< a companion; why is "" when it left as told
  std::function<void(int code)> finished;
};

class Group {
 public:
  Group(Loop& loop, GroupOptions options, GroupHooks hooks);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  Member& add(Member member);  ///< stays where it is until it is gone and sweep() was called
  void start();                ///< generation 1, of the base members
  void admit(Member& member);  ///< one that came after start(): its workers start, or wait for the restart
  void take(Member& member, const Message& message);
  void lose(Member& member, const std::string& why);
  void release(std::span<Member* const> members);  ///< all with one move
  void release(Member& member);
  /// Nodes of the base leave, the last ones first, until `keep` are left; the first one stays. They do not
  /// come back.
  void keep_base(std::size_t keep);
  void signal(int number);

  /// All ranks save and end: the resize signal first where there is one, SIGTERM so that they have ended
  /// within `seconds`. Then the group stands still, until go_on(). False when it cannot now.
  bool save(double seconds);
  /// Starts the ranks anew, at the size that the group has, once those of before have ended.
  void go_on();
  bool saving() const { return save_ != Save::no; }
  bool saved() const { return save_ == Save::done; }

  void finish(int code);

  /// Of the base allocation, those that left not counted.
  std::size_t base_nodes() const;
  bool elastic() const { return elastic_; }  ///< the workers re-form in their processes
  bool can_move() const { return elastic_ || options_.restart; }
  bool moving() const { return moving_; }
  bool ending() const { return ending_; }
  void set_lead(double seconds) { options_.lead = seconds; }
  const char* phase() const { return phase_; }
  std::int64_t generation() const { return generation_; }
  std::int64_t units() const;  ///< of base and companions that have joined
  std::int64_t ranks() const { return world_; }
  std::int64_t moves() const { return moves_; }
  double lost_seconds() const { return lost_s_; }
  double move_seconds() const { return move_s_; }
  const std::vector<std::unique_ptr<Member>>& members() const { return members_; }
  void sweep();  ///< forgets those that are gone

 private:
  enum class Save { no, asked, done };
  using Filter = std::function<bool(const Member&)>;
  void set(Member& member, MemberState state);
  bool all(const Filter& which, const Filter& holds) const;
  void send_all(const Filter& which, const Message& message);
  Message placement(Kind kind);
  Message placement_of_joiner(const Member& member) const;
  void place(Kind kind);
  void consider();
  void move(bool lost);
  void move_in_process(bool lost);
  void move_by_restart();
  void restart_when_stopped();
  void moved(double seconds);
  void on_exit(Member& member, const Message& message);
  bool over() const;
  void on_well_ended();
  void on_stopped(Member& member);
  void on_formed(Member& member, const Message& message);
  void fail(int code, const std::string& why);
  void end_when_stopped();
  void saved_when_stopped();

  Loop& loop_;
  GroupOptions options_;
  GroupHooks hooks_;
  std::vector<std::unique_ptr<Member>> members_;
  const char* phase_ = "steady";
  std::int64_t generation_ = 0, world_ = 0, moves_ = 0;
  double lost_s_ = 0, move_s_ = 0, stood_still_ = 0;
  bool elastic_ = false, moving_ = false, ending_ = false, terminating_ = false, told_ = false;
  Save save_ = Save::no;
  bool go_on_ = false;  ///< as soon as they have ended
  int code_ = 0;
  Clock::time_point move_began_;
  Loop::Timer end_timer_ = 0, lead_timer_ = 0, settle_timer_ = 0, gather_timer_ = 0;
};

}  // namespace mlq::run
