// SPDX-License-Identifier: GPL-2.0-or-later
// The other nodes of a base allocation: one srun starts an agent on each.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "tools/mlq/run/group.hpp"
#include "tools/mlq/run/job_facts.hpp"
#include "tools/mlq/run/link.hpp"

namespace mlq::run {

class BaseNodes {
 public:
  using Make = std::function<Member(std::size_t node, std::int64_t gpus)>;
  using Take = std::function<void(Member&, const Message&)>;
  using Fail = std::function<void(int code, const std::string& why)>;

  static constexpr double kStartLimit = 60;  ///< seconds until all must have come

  BaseNodes(Loop& loop, Processes& processes, Group& group, const JobFacts& facts, Message welcome, Make make,
            Take take, Fail fail);
  ~BaseNodes();
  BaseNodes(const BaseNodes&) = delete;
  BaseNodes& operator=(const BaseNodes&) = delete;

  /// Starts them; the group starts when all have come. place: HOST:PORT of the gate.
  void start(const std::string& program, const std::string& place, const std::string& secret);
  void let_in(std::unique_ptr<Link> link, const Message& join);
  void stop();
  bool settled() const { return step_ < 0; }

 private:
  Loop& loop_;
  Processes& processes_;
  Group& group_;
  const JobFacts& facts_;
  Message welcome_;
  Make make_;
  Take take_;
  Fail fail_;
  std::map<std::size_t, std::unique_ptr<Link>> links_;  ///< by node of the allocation
  std::map<std::size_t, std::string> hosts_;
  std::map<std::size_t, std::int64_t> gpus_;
  pid_t step_ = -1;
  Loop::Timer limit_ = 0;
  bool stopped_ = false;
};

}  // namespace mlq::run
