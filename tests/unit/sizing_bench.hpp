// SPDX-License-Identifier: GPL-2.0-or-later
// Pending jobs whose size may be chosen.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "slurm-plugin/engine/size_range.hpp"
#include "tests/unit/resize_bench.hpp"

using mlq::engine::size_range;
using mlq::engine::SizeRange;

inline mlq_size_request_t tasks(std::uint32_t count, std::uint32_t cpus_per_task = 1) {
  mlq_size_request_t size{};
  size.cpus = count * cpus_per_task;
  size.tasks = count;
  size.cpus_per_task = cpus_per_task;
  size.min_nodes = 1;
  return size;
}

inline SizeRange range_of(const char* request, const mlq_size_request_t& size,
                          mlq::engine::NodeRange before = {}) {
  mlq_request_t parsed;
  ck_assert_int_eq(mlq_request_parse(request, &parsed, nullptr, 0), 0);
  return size_range(parsed, size, before);
}

struct SizingBench : ResizeBench {
  explicit SizingBench(std::vector<std::uint32_t> cpus, const char* extra = "")
      : ResizeBench(std::move(cpus), extra) {}

  mlq_job_snapshot_t& ask(std::uint32_t id, std::uint32_t count, const char* request) {
    mlq_job_snapshot_t& job = add(id, MLQ_JOB_PENDING, count, request);
    job.partition = "main";
    job.account = "physics";
    job.size = tasks(count);
    mlq_waiting_snapshot_t& waits = wait(id, count);
    waits.submit_time = job.submit_time;
    waits.priority = 1000 - id;
    return job;
  }

  std::span<const mlq_sizing_t> sizings() {
    const mlq_sizing_t* found = nullptr;
    const std::size_t count = mlq_engine_sizings(engine.get(), &found);
    return {found, found + count};
  }
  std::string why(std::uint32_t id) {
    const char* text = json_string_value(json_object_get(statuses[id].get(), "reason"));
    return text == nullptr ? "" : text;
  }
};
