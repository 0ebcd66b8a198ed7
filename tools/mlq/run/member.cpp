// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/member.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "tools/mlq/error.hpp"
#include "tools/mlq/run/gate.hpp"
#include "tools/mlq/run/node.hpp"
#include "tools/mlq/run/node_size.hpp"

namespace mlq::run {
namespace {

constexpr double kOrphanGrace = 5;  ///< seconds for the workers when the head is gone: all is over within ten
constexpr double kRetry = 1, kTryFor = 10;

std::pair<std::string, std::string> split(const std::string& place) {
  const auto colon = place.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == place.size())
    throw cli::Error("--join: HOST:PORT of the job's agent is needed, given was \"" + place + "\"");
  return {place.substr(0, colon), place.substr(colon + 1)};
}

/// Taken out of the environment, so that no worker has it.
std::string take_variable(const char* name) {
  const char* value = std::getenv(name);
  std::string text = value ? value : "";
  unsetenv(name);
  return text;
}

class JoinedAgent {
 public:
  explicit JoinedAgent(const std::string& place)
      : place_(split(place)),
        secret_(take_variable("MLQ_AGENT_SECRET")),
        processes_(loop_),
        node_(
            loop_, processes_, [this](const Message& message) { tell(message); },
            [this] { return link_ && link_->busy(); }) {
    const std::string ticket = take_variable("MLQ_AGENT_TICKET");
    if (secret_.empty())
      throw cli::Error("--join: is started by mlq run, with MLQ_AGENT_SECRET in its environment");
    std::from_chars(ticket.data(), ticket.data() + ticket.size(), ticket_);
    own_ = own_environment();
    if (ticket.empty()) ticket_ = node_size(own_).node;  // of the base allocation: which node it is
  }

  int run() {
    processes_.on_signal([this](int number) { on_signal(number); });
    began_ = Clock::now();
    knock();
    loop_.run();
    if (link_) link_->flush(Seconds(2));
    return code_;
  }

 private:
  void knock() {
    Message join;
    const NodeSize size = node_size(own_);
    join.ticket = ticket_;
    join.job = size.job;
    join.cores = size.cores;
    join.gpus = size.gpus;
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    const auto node = own_.find("SLURMD_NODENAME");
    join.host = node != own_.end() ? node->second : host.data();
    knock_ = std::make_unique<Knock>(
        loop_, place_.first, place_.second, secret_, join,
        [this](std::unique_ptr<Link> link) { enter(std::move(link)); },
        [this](const std::string& why) { not_let_in(why); });
  }

  void not_let_in(const std::string& why) {
    if (Clock::now() - began_ < Seconds(kTryFor)) {
      loop_.after(Seconds(kRetry), [this] { knock(); });
      return;
    }
    std::fprintf(stderr, "mlq: error: the job's agent at %s:%s cannot be reached: %s\n", place_.first.c_str(),
                 place_.second.c_str(), why.c_str());
    end(1);
  }

  void enter(std::unique_ptr<Link> link) {
    link_ = std::move(link);
    link_->listen([this](const Message& order) { take(order); },
                  [this](const std::string& why) { head_gone(why); });
  }

  void take(const Message& order) {
    if (order.kind == Kind::welcome) {
      Message mine = order;
      mine.environment = base_environment(own_, order.environment);
      node_.prepare(std::move(mine), node_size(own_).cores, false);
    } else if (order.kind == Kind::leave) {
      leave(0, kOrphanGrace);
    } else {
      // a leaver is told so by a reform without ranks: it ends when its workers have left
      node_.handle(order);
    }
  }

  void tell(const Message& message) {
    if (link_ && !leaving_) link_->send(message);
    if (leaving_ && node_.idle()) end(leave_code_);
  }

  void head_gone(const std::string& why) {
    if (leaving_) return;
    std::fprintf(stderr, "mlq: the job's agent is gone: %s\n", why.c_str());
    leave(1, kOrphanGrace);
  }

  void leave(int code, double grace) {
    if (leaving_) return;
    leaving_ = true;
    leave_code_ = code;
    Message stop;
    stop.kind = Kind::stop;
    stop.number = SIGTERM;
    stop.seconds = grace;
    if (node_.idle())
      end(code);
    else
      node_.handle(stop);
  }

  void on_signal(int number) {
    if (number != SIGTERM && number != SIGINT && number != SIGHUP) {
      if (number != SIGCONT && number != SIGTSTP) return;
      Message signal;
      signal.kind = Kind::signal;
      signal.number = number;
      node_.handle(signal);
      return;
    }
    // Slurm ends this job: the group must know before it misses the workers
    Message gone;
    gone.kind = Kind::leaving;
    gone.text = "its job was ended by signal " + std::to_string(number);
    if (link_ && !leaving_) {
      link_->send(gone);
      link_->flush(Seconds(1));
    }
    leave(0, kOrphanGrace);
  }

  void end(int code) {
    code_ = code;
    loop_.quit();
  }

  std::pair<std::string, std::string> place_;
  std::string secret_;
  Loop loop_;
  Processes processes_;
  Node node_;
  Environment own_;
  std::int64_t ticket_ = 0;
  std::unique_ptr<Knock> knock_;
  std::unique_ptr<Link> link_;
  Clock::time_point began_;
  bool leaving_ = false;
  int code_ = 0, leave_code_ = 0;
};

}  // namespace

int follow_head(const std::string& place) {
  return JoinedAgent(place).run();
}

}  // namespace mlq::run
