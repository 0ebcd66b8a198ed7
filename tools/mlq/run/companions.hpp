// SPDX-License-Identifier: GPL-2.0-or-later
// The companions of a job: asked for with sbatch, taken in when their agents come, given back when the target
// says so.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/mlq/run/commands.hpp"
#include "tools/mlq/run/companion_plan.hpp"
#include "tools/mlq/run/group.hpp"
#include "tools/mlq/run/link.hpp"
#include "tools/mlq/run/node_size.hpp"

namespace mlq::run {

struct CompanionOptions {
  std::int64_t job = 0;  ///< the parent
  Environment own;       ///< of this process
  Unit unit;
  RanksRule ranks;
  std::string directory;                ///< working directory of the workers
  std::string program;                  ///< this program's path
  std::string address;                  ///< of this host
  double start_limit = 60;              ///< seconds after which one that has not started is cancelled
  std::function<std::uint16_t()> port;  ///< of the gate
  std::string secret;
};

/// Seconds since the epoch.
double wall_time();

/// Why no more companions were had, and until when none is asked for.
struct Refusal {
  std::string why;
  double at = 0;  ///< seconds since the epoch, 0 = never
};

class Companions {
 public:
  struct Record {
    std::int64_t ticket = 0, job = 0;  ///< job 0: sbatch has not answered
    Grant grant;
    bool joined = false, leaving = false, started = false;
    Clock::time_point since = Clock::now();  ///< asked for, or seen started
    std::unique_ptr<Link> link;
    Member* member = nullptr;
  };
  using Say = std::function<void(const std::string&)>;
  /// A message of a companion's agent.
  using Take = std::function<void(Member&, const Message&)>;

  Companions(Loop& loop, Processes& processes, Group& group, CompanionOptions options, Message welcome,
             Say say, Take take);
  ~Companions();
  Companions(const Companions&) = delete;
  Companions& operator=(const Companions&) = delete;

  void follow(const Target& target);
  void release_all();
  void let_in(std::unique_ptr<Link> link, const Message& join);
  void gone(const Member& member, const std::string& why);
  void stop();  ///< the training is over: those that wait are cancelled, none is asked for any more
  bool settled() const { return commands_.idle(); }

  const std::vector<std::unique_ptr<Record>>& records() const { return records_; }
  const Refusal& refusal() const { return refusal_; }

 private:
  Record* find(std::int64_t ticket);
  std::vector<CompanionView> views() const;
  void submit(const Grant& grant);
  void ask_parent(std::int64_t ticket);
  void send_batch(std::int64_t ticket, const ParentJob& parent);
  void submitted(std::int64_t ticket, const CommandResult& result);
  void release(const std::vector<Record*>& records);  ///< all with one move of the group
  void cancel(std::int64_t job, int tries);
  void refuse(Record& record, const std::string& why);
  void look();
  void take_queue(const CommandResult& result);
  void take_state(Record& record, const std::string& state, const std::string& reason);
  void forget(std::int64_t ticket);
  std::string host_name(const Message& join) const;

  Loop& loop_;
  Group& group_;
  CompanionOptions options_;
  Message welcome_;
  Say say_;
  Take take_;
  Commands commands_;
  std::vector<std::unique_ptr<Record>> records_;
  Refusal refusal_;
  double back_off_ = 0;  ///< seconds
  Clock::time_point not_before_{};
  std::int64_t last_ticket_ = 0;
  bool stopped_ = false, looking_ = false;
  Loop::Timer look_timer_ = 0;
};

/// Parent as `squeue -o` with kParentFormat prints it; nothing when it is not there. Of the leader of a
/// heterogeneous job or of an array squeue prints all others as well.
inline constexpr const char* kParentFormat = "%A\t%a\t%q\t%v\t%L\t%f";
std::optional<ParentJob> parse_parent(const std::string& output, std::int64_t job);

}  // namespace mlq::run
