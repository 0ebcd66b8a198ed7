// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/head.hpp"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>

#include "tools/mlq/error.hpp"
#include "tools/mlq/run/agent_report.hpp"
#include "tools/mlq/run/base_nodes.hpp"
#include "tools/mlq/run/companions.hpp"
#include "tools/mlq/run/follower.hpp"
#include "tools/mlq/run/gate.hpp"
#include "tools/mlq/run/job_facts.hpp"
#include "tools/mlq/run/node.hpp"
#include "tools/mlq/run/output.hpp"
#include "tools/mlq/run/port.hpp"
#include "tools/mlq/run/proof.hpp"

namespace mlq::run {
namespace {

constexpr Seconds kLastReport(2);
constexpr double kRequeueLimit = 120;  ///< seconds beyond the grace in which the requeue must come
constexpr double kAttachLimit = 20;  ///< seconds after which a training that has not attached is said not to
constexpr double kSettle = 5;        ///< seconds in which pending companions are cancelled at the end

std::string own_program() {
  std::string path(PATH_MAX, '\0');
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0) throw cli::Error("/proc/self/exe does not say where this program is");
  path.resize(static_cast<std::size_t>(size));
  return path;
}

std::string whole_seconds(double seconds) {
  return std::to_string(std::lround(seconds));
}

std::string own_directory() {
  std::string path(PATH_MAX, '\0');
  if (!getcwd(path.data(), path.size())) throw cli::Error("the working directory is gone");
  path.resize(std::strlen(path.c_str()));
  return path;
}

class Head {
 public:
  explicit Head(const RunOptions& options)
      : options_(options),
        facts_(job_facts(options.ranks, options.no_resize)),
        address_(options.address.empty() ? own_address() : options.address),
        processes_(loop_),
        out_(loop_, STDOUT_FILENO),
        err_(loop_, STDERR_FILENO),
        node_(
            loop_, processes_, [this](const Message& message) { from_own_node(message); },
            [this] { return out_.full() || err_.full(); }),
        group_(loop_, group_options(), group_hooks()) {}

  int run() {
    processes_.on_signal([this](int number) { on_signal(number); });
    prepare_own_node();
    if (facts_.size.nodes > 1)
      start_base_nodes();
    else
      loop_.defer([this] { group_.start(); });
    follow_mlqd();
    loop_.run();
    out_.drain(Seconds(5));
    err_.drain(Seconds(5));
    return code_;
  }

 private:
  GroupOptions group_options() const {
    return {address_, options_.restart, parse_signal(options_.resize_signal),
            options_.lead > 0 ? options_.lead : 30, options_.grace};
  }

  GroupHooks group_hooks() {
    GroupHooks hooks;
    hooks.say = [this](const std::string& line) { say(line); };
    hooks.changed = [this] {
      if (follower_) follower_->changed();
    };
    hooks.gone = [this](const Member& member, const std::string& why) {
      if (companions_) companions_->gone(member, why);
      loop_.defer([this] { group_.sweep(); });
      if (follower_) follower_->changed();
    };
    hooks.finished = [this](int code) { finished(code); };
    return hooks;
  }

  void say(const std::string& line) {
    if (!options_.quiet) err_.write("mlq: " + line + "\n");
  }

  Message welcome() const {
    Message message;
    message.kind = Kind::welcome;
    message.command = options_.command;
    message.environment = base_environment(facts_.own, facts_.own);
    message.directory = own_directory();
    message.flag = options_.label;
    message.seconds = options_.grace;
    return message;
  }

  Member base_member(std::size_t index, std::int64_t gpus) const {
    Member member;
    member.base = true;
    member.cores = facts_.cores[index];
    member.units = units_on(facts_, member.cores, gpus);
    member.ranks = ranks_of(facts_.ranks, member.units);
    member.name = "node " + std::to_string(index);
    return member;
  }

  void prepare_own_node() {
    Member member = base_member(0, facts_.size.gpus);
    // several that write into one file would mix their lines
    node_.prepare(welcome(), facts_.size.cores, !options_.label && member.ranks == 1);
    member.name = "the batch host";
    // later, as for members behind a link: neither side is called while it is at work itself
    member.send = [this](const Message& message) { loop_.defer([this, message] { node_.handle(message); }); };
    own_ = &group_.add(std::move(member));
  }

  void from_own_node(const Message& message) {
    if (message.kind == Kind::output)
      take(*own_, message);
    else
      loop_.defer([this, message] { take(*own_, message); });
  }

  void take(Member& member, const Message& message) {
    if (message.kind == Kind::output) {
      (message.number == 2 ? err_ : out_).write(bytes_of_text(message.text));
    } else if (member.state != MemberState::gone) {
      group_.take(member, message);
    }
  }

  void open_gate() {
    if (gate_) return;
    secret_ = random_hex(32);
    gate_ = std::make_unique<Gate>(loop_, secret_, [this](std::unique_ptr<Link> link, const Message& join) {
      if (base_ && join.job == facts_.size.job)
        base_->let_in(std::move(link), join);
      else if (companions_)
        companions_->let_in(std::move(link), join);
    });
  }

  void start_base_nodes() {
    open_gate();
    base_ = std::make_unique<BaseNodes>(
        loop_, processes_, group_, facts_, welcome(),
        [this](std::size_t index, std::int64_t gpus) { return base_member(index, gpus); },
        [this](Member& member, const Message& message) { take(member, message); },
        [this](int code, const std::string& why) {
          say("error: " + why);
          group_.finish(code);
        });
    base_->start(own_program(), address_ + ":" + std::to_string(gate_->port()), secret_);
  }

  void follow_mlqd() {
    if (facts_.url.empty() || facts_.token.empty() || facts_.size.job == 0) return;
    if (facts_.resizable) {
      open_gate();
      CompanionOptions options{facts_.size.job, facts_.own,           facts_.unit,
                               facts_.ranks,    own_directory(),      own_program(),
                               address_,        options_.start_limit, [this] { return gate_->port(); },
                               secret_};
      companions_ = std::make_unique<Companions>(
          loop_, processes_, group_, std::move(options), welcome(),
          [this](const std::string& line) { say(line); },
          [this](Member& member, const Message& message) { take(member, message); });
    }
    FollowerHooks hooks;
    hooks.news = [this](const JobNews& news) {
      if (saves()) follow_requeue(news.target ? *news.target : Target());
      if (!news.target || !companions_) return;
      if (options_.lead <= 0 && news.target->lead > 0) group_.set_lead(news.target->lead);
      if (news.target->keep_nodes > 0) group_.keep_base(static_cast<std::size_t>(news.target->keep_nodes));
      companions_->follow(*news.target);
    };
    hooks.silent = [this] {
      if (!companions_ || companions_->records().empty()) return;
      say("mlqd has been silent for " + whole_seconds(options_.silence) +
          " s: the companions are given back");
      companions_->release_all();
    };
    hooks.report = [this] { return agent_report(group_, companions_.get(), saves(), why_not()); };
    follower_ = std::make_unique<Follower>(loop_, facts_.url, facts_.token, facts_.cluster, facts_.size.job,
                                           options_.silence, std::move(hooks));
  }

  /// Its ranks can be ended at any time, and go on from what they saved.
  bool saves() const { return facts_.requeue && options_.restart; }

  /// The ranks save and end; what is left to do is Slurm's, which ends this process too. When that doesn't
  /// come, or is taken back, they go on as they were.
  void follow_requeue(const Target& target) {
    if (target.requeue_at > 0 && target.requeue_at != given_up_) {
      if (group_.save(std::max(1.0, target.requeue_grace))) {
        saving_at_ = target.requeue_at;
        give_up_timer_ = loop_.after(Seconds(target.requeue_grace + kRequeueLimit), [this] {
          give_up_timer_ = 0;
          given_up_ = saving_at_;
          group_.go_on();
        });
      }
    } else if (group_.saving()) {
      loop_.cancel(give_up_timer_);
      group_.go_on();
    }
  }

  Refusal why_not() const {
    if (facts_.requeue && !saves())
      return {"resize=requeue: without --restart its ranks cannot be told to save", began_};
    if (!facts_.resizable) return {facts_.why_not, began_};
    if (!group_.can_move() && wall_time() > began_ + kAttachLimit)
      return {"the training has not attached to MLQ_AGENT and --restart was not given",
              began_ + kAttachLimit};
    return {};
  }

  void on_signal(int number) {
    if (companions_ && (number == SIGTERM || number == SIGINT || number == SIGHUP)) companions_->stop();
    if (group_.generation() == 0 && number != SIGCONT && number != SIGTSTP) {
      group_.finish(128 + number);  // nothing runs yet
      return;
    }
    if (group_.saved() && (number == SIGTERM || number == SIGINT || number == SIGHUP)) {
      group_.finish(128 + number);
      return;
    }
    group_.signal(number);
  }

  void finished(int code) {
    code_ = code;
    if (companions_) companions_->stop();
    if (base_) base_->stop();
    if (follower_) follower_->last_report(kLastReport, [] {});
    end_by_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(kSettle));
    wait_for_commands();
  }

  void wait_for_commands() {
    const bool settled = (!companions_ || companions_->settled()) && (!base_ || base_->settled());
    if (!settled && Clock::now() < end_by_) {
      loop_.after(Seconds(0.05), [this] { wait_for_commands(); });
      return;
    }
    if (!follower_) {
      loop_.quit();
      return;
    }
    follower_->last_report(kLastReport, [this] { loop_.quit(); });
  }

  RunOptions options_;
  JobFacts facts_;
  std::string address_, secret_;
  Loop loop_;
  Processes processes_;
  Sink out_, err_;
  Node node_;
  Group group_;
  Member* own_ = nullptr;
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<BaseNodes> base_;
  std::unique_ptr<Companions> companions_;
  std::unique_ptr<Follower> follower_;
  Clock::time_point end_by_;
  double began_ = wall_time();
  double saving_at_ = 0, given_up_ = 0;  ///< which requeue, by the time of its announcement
  Loop::Timer give_up_timer_ = 0;
  int code_ = 1;
};

}  // namespace

int run_head(const RunOptions& options) {
  return Head(options).run();
}

}  // namespace mlq::run
