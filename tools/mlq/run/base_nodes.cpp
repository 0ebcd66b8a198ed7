// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/base_nodes.hpp"

#include <csignal>

namespace mlq::run {

BaseNodes::BaseNodes(Loop& loop, Processes& processes, Group& group, const JobFacts& facts, Message welcome,
                     Make make, Take take, Fail fail)
    : loop_(loop),
      processes_(processes),
      group_(group),
      facts_(facts),
      welcome_(std::move(welcome)),
      make_(std::move(make)),
      take_(std::move(take)),
      fail_(std::move(fail)) {}

BaseNodes::~BaseNodes() {
  loop_.cancel(limit_);
}

void BaseNodes::start(const std::string& program, const std::string& place, const std::string& secret) {
  const std::string nodes = std::to_string(facts_.size.nodes);
  Program step;
  // on the batch host too, where it ends at once: which node is which is then what SLURM_NODEID says
  step.command = {"srun",
                  "--overlap",
                  "--nodes=" + nodes,
                  "--ntasks=" + nodes,
                  "--ntasks-per-node=1",
                  "--kill-on-bad-exit=0",
                  "--no-kill",  // nodes of the base may be given back
                  "--wait=0",
                  "--export=ALL",
                  program,
                  "run",
                  "--node-agent",
                  place};
  step.environment = facts_.own;
  // what the batch script asks for by task is not by agent; of GPUs a step that asks for none has all of the
  // job
  for (const char* name :
       {"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE", "SLURM_CPU_BIND", "SLURM_DISTRIBUTION",
        "SLURM_GRES", "SLURM_GPUS", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_SOCKET", "SLURM_GPUS_PER_TASK",
        "SLURM_GPU_BIND", "SLURM_CPUS_PER_GPU", "SLURM_NTASKS_PER_GPU", "SLURM_TRES_PER_TASK"})
    step.environment.erase(name);
  step.environment["MLQ_AGENT_SECRET"] = secret;
  std::string error;
  step_ = processes_.start(
      step,
      [this](int status) {
        step_ = -1;
        const bool all_left = group_.base_nodes() <= 1;
        if (!stopped_ && !group_.ending() && !all_left)
          fail_(1, "srun of the node agents ended with exit code " + std::to_string(exit_code(status)));
      },
      error);
  if (step_ < 0) {
    loop_.defer([this, error] { fail_(1, "srun cannot be started: " + error); });
    return;
  }
  limit_ = loop_.after(Seconds(kStartLimit), [this] {
    limit_ = 0;
    fail_(1, std::to_string(links_.size()) + " of " + std::to_string(facts_.size.nodes - 1) +
                 " node agents have come within 60 s");
  });
}

void BaseNodes::let_in(std::unique_ptr<Link> link, const Message& join) {
  const auto node = static_cast<std::size_t>(join.ticket);
  if (stopped_ || node == 0 || node >= facts_.cores.size() || links_.contains(node))
    return;  // the link is closed
  links_[node] = std::move(link);
  hosts_[node] = join.host;
  gpus_[node] = join.gpus;
  if (static_cast<std::int64_t>(links_.size()) + 1 < facts_.size.nodes) return;
  loop_.cancel(limit_);
  for (auto& [index, to] : links_) {
    Member member = make_(index, gpus_[index]);
    member.host = hosts_[index];
    member.send = [peer = to.get()](const Message& message) { peer->send(message); };
    Member* at = &group_.add(std::move(member));
    to->listen([this, at](const Message& message) { take_(*at, message); },
               [this, at](const std::string& why) { group_.lose(*at, why); });
    to->send(welcome_);
  }
  group_.start();
}

void BaseNodes::stop() {
  stopped_ = true;
  loop_.cancel(limit_);
  for (auto& [index, link] : links_) link->flush(Seconds(1));
  if (step_ > 0)
    loop_.after(Seconds(3), [this] {
      if (step_ > 0) processes_.signal(step_, SIGTERM);
    });
}

}  // namespace mlq::run
