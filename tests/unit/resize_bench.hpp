// SPDX-License-Identifier: GPL-2.0-or-later
// A cluster of nodes on which jobs with agents run: what the engine wants of them, cycle by cycle.
#pragma once

#include <algorithm>
#include <map>

#include "core/wire/wire.hpp"
#include "tests/unit/engine_bench.hpp"

struct ResizeBench : Bench {
  explicit ResizeBench(std::vector<std::uint32_t> node_cpus, const char* extra = "")
      : Bench((std::string("mlq_dwell=20,mlq_lead=10,") + extra).c_str()) {
    for (const std::uint32_t cpus : node_cpus) nodes.push_back({cpus, cpus, 0, 1, {}});
    classes.push_back({node_cpus.front(), false, "fast,east", 0});
    jobs.reserve(64);
  }

  /// A job of one node that is resized, with a curve that falls on; its agent was heard at `now`.
  mlq_job_snapshot_t& train(std::uint32_t id, std::uint32_t cores, std::uint32_t node,
                            const char* request = "resize=companion,max=64", double scale = 1) {
    mlq_job_snapshot_t& job = add(id, MLQ_JOB_RUNNING, cores, request);
    job.partition = "main";
    job.account = "physics";
    job.node = node;
    report_falling(id, 60, scale);
    agents[id] = {cores, "steady", "", 0, -1};
    return job;
  }

  mlq_job_snapshot_t& companion(std::uint32_t id, std::uint32_t parent, std::uint32_t cores,
                                std::uint32_t node, double start = epoch) {
    mlq_job_snapshot_t& job = add(id, MLQ_JOB_RUNNING, cores);
    texts.push_back(std::make_unique<std::string>("companion=" + std::to_string(parent)));
    job.request = texts.back()->c_str();
    job.user_id = 1000 + parent;
    job.start_time = static_cast<std::int64_t>(start);
    job.node = node;
    return job;
  }

  mlq_waiting_snapshot_t& wait(std::uint32_t id, std::uint32_t cpus) {
    mlq_waiting_snapshot_t job{};
    job.job_id = id;
    job.submit_time = 5;
    job.partitions = 1;
    job.cpus = cpus;
    job.nodes = 1;
    waiting.push_back(job);
    return waiting.back();
  }

  void remove(std::uint32_t id) {
    std::erase_if(jobs, [id](const mlq_job_snapshot_t& job) { return job.job_id == id; });
  }

  /// A cycle with the nodes as the jobs leave them.
  void turn(double now, bool with_cluster = true) {
    for (mlq_node_snapshot_t& node : nodes) node.idle = node.cpus;
    for (const mlq_job_snapshot_t& job : jobs) {
      if (job.state == MLQ_JOB_RUNNING && job.node < nodes.size()) nodes[job.node].idle -= job.cores;
    }
    for (const auto& [node, cpus] : used) nodes[node].idle -= cpus;
    set_idle_gpus();
    std::string told;
    for (const auto& [id, agent] : agents) {
      char one[512];
      std::snprintf(one, sizeof one,
                    R"(%s{"job_id":%u,"submit":%lld,"time":%f,"received":%f,"phase":"%s","units":%u,)"
                    R"("refused":"%s","refused_at":%f%s})",
                    told.empty() ? "" : ",", id, static_cast<long long>(epoch) - 1000,
                    agent.heard >= 0 ? agent.heard : now, agent.heard >= 0 ? agent.heard : now, agent.phase,
                    agent.units, agent.refused, agent.refused_at, agent.more.c_str());
      told += one;
    }
    mlqd.set_agents("[" + told + "]");
    const char* const names[] = {"main", "other"};
    cluster = {nodes.data(),   nodes.size(),   classes.data(),   classes.size(),  names, 2,
               waiting.data(), waiting.size(), gpu_types.data(), gpu_types.size()};
    mlq_engine_see_cluster(engine.get(), with_cluster ? &cluster : nullptr);
    cycle(now);
    const mlq_ending_t* found = nullptr;
    const std::size_t count = mlq_engine_endings(engine.get(), &found);
    endings.assign(found, found + count);
    for (const std::string& body : mlqd.take_cycles()) {
      const mlq::wire::Json message(json_loads(body.c_str(), 0, nullptr));
      std::size_t i = 0;
      json_t* job = nullptr;
      json_array_foreach(json_object_get(message.get(), "jobs"), i, job) {
        const auto id = static_cast<std::uint32_t>(json_integer_value(json_object_get(job, "job_id")));
        statuses[id].reset(json_incref(json_object_get(job, "status")));
      }
    }
  }

  /// A node's GPUs; its class says the type.
  void give_gpus(std::uint32_t node, std::uint16_t count, std::uint32_t type) {
    has_gpus[node] = {type, count};
    classes[nodes[node].node_class].gpu_types |= 1U << type;
    classes[nodes[node].node_class].gres = true;
  }

  void set_idle_gpus() {
    for (const auto& [node, gpus] : has_gpus) {
      std::uint32_t held = used_gpus.contains(node) ? used_gpus.at(node) : 0;
      for (const mlq_job_snapshot_t& job : jobs)
        held += job.state == MLQ_JOB_RUNNING && job.node == node ? job.gpus : 0;
      ck_assert_uint_le(held, gpus.second);
      nodes[node].gpus[gpus.first] = static_cast<std::uint16_t>(gpus.second - held);
    }
  }

  json_t* target(std::uint32_t id) { return json_object_get(statuses[id].get(), "target"); }
  std::int64_t wanted(std::uint32_t id) { return json_integer_value(json_object_get(target(id), "units")); }
  std::int64_t granted(std::uint32_t id) {
    std::int64_t sum = 0;
    std::size_t i = 0;
    json_t* grant = nullptr;
    json_array_foreach(json_object_get(target(id), "grants"), i, grant) sum +=
        json_integer_value(json_object_get(grant, "units"));
    return sum;
  }
  std::string reason(std::uint32_t id) {
    const char* text =
        json_string_value(json_object_get(json_object_get(statuses[id].get(), "resize"), "reason"));
    return text == nullptr ? "" : text;
  }
  std::vector<std::int64_t> leave(std::uint32_t id) {
    std::vector<std::int64_t> ids;
    std::size_t i = 0;
    json_t* one = nullptr;
    json_array_foreach(json_object_get(target(id), "leave"), i, one) ids.push_back(json_integer_value(one));
    return ids;
  }

  struct FakeAgent {
    std::uint32_t units;
    const char* phase;
    const char* refused;
    double refused_at;
    double heard;  ///< < 0: now
    std::string more = {};
  };
  std::map<std::uint32_t, FakeAgent> agents;
  std::vector<mlq_node_snapshot_t> nodes;
  std::map<std::uint32_t, std::uint32_t> used;                                ///< by ordinary jobs
  std::map<std::uint32_t, std::pair<std::uint32_t, std::uint16_t>> has_gpus;  ///< by node: type, count
  std::map<std::uint32_t, std::uint32_t> used_gpus;                           ///< by ordinary jobs
  std::vector<const char*> gpu_types;
  std::vector<mlq_class_snapshot_t> classes;
  std::vector<mlq_waiting_snapshot_t> waiting;
  mlq_cluster_snapshot_t cluster{};
  std::vector<mlq_ending_t> endings;
  std::map<std::uint32_t, mlq::wire::Json> statuses;
};

inline void holds_text(const std::string& text, const char* part) {
  ck_assert_msg(text.find(part) != std::string::npos, "\"%s\" lacks \"%s\"", text.c_str(), part);
}
