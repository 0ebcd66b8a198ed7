// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlqd/metrics.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "mlq_build.h"

namespace mlq::mlqd {
namespace {

class Text {
 public:
  void family(const char* name, const char* type, const char* help) {
    out_ += std::string("# TYPE slurm_mlq_") + name + " " + type + "\n# HELP slurm_mlq_" + name + " " + help +
            "\n";
  }
  void sample(const char* name, const std::string& labels, double value) {
    char number[40];
    std::snprintf(number, sizeof number, " %.17g\n", value);
    out_ += std::string("slurm_mlq_") + name + labels + number;
  }
  void counter(const char* name, const char* help, double value) {
    family(name, "counter", help);
    sample((std::string(name) + "_total").c_str(), "", value);
  }
  void gauge(const char* name, const char* help, double value) {
    family(name, "gauge", help);
    sample(name, "", value);
  }
  std::string finish() { return out_ + "# EOF\n"; }

 private:
  std::string out_;
};

/// Clusters' names hold neither quotes nor backslashes (wire::valid_cluster), so they need no escape.
std::string label(const char* name, const std::string& value) {
  return std::string("{") + name + "=\"" + value + "\"}";
}

struct CycleMetric {
  const char* member;  ///< of the cycle, or of its stats
  const char* name;
  const char* help;
  double scale;
};

constexpr CycleMetric kCycle[] = {
    {"time", "cycle_timestamp_seconds", "When the scheduler's newest cycle was.", 1},
    {"pull_ms", "cycle_pull_seconds", "How long the newest cycle waited for new points.", 1e-3},
    {"decide_ms", "cycle_decide_seconds", "How long the newest cycle fitted and ranked.", 1e-3},
    {"fit_ms", "cycle_fit_seconds", "Of that: fitted curves.", 1e-3},
    {"allocate_ms", "cycle_allocate_seconds", "Of that: dealt out units.", 1e-3},
    {"pack_ms", "cycle_pack_seconds", "Of that: brought units onto nodes.", 1e-3},
    {"read_hold_us", "cycle_read_hold_seconds", "How long the newest cycle held Slurm's read locks.", 1e-6},
    {"write_hold_max_us", "cycle_write_hold_max_seconds", "Longest hold of Slurm's write locks in it.", 1e-6},
    {"write_hold_sum_us", "cycle_write_hold_seconds", "All holds of Slurm's write locks in it.", 1e-6},
    {"write_holds", "cycle_write_holds", "How often it took Slurm's write locks.", 1},
    {"applied", "cycle_applied", "Job records it changed.", 1},
    {"endings", "cycle_endings", "Companions it ended.", 1},
};

void write_cycles(Text& text, const StoreFacts& store) {
  for (const CycleMetric& metric : kCycle) {
    bool first = true;
    for (const auto& [cluster, cycle] : store.cycles) {
      const json_t* value = json_object_get(cycle.get(), metric.member);
      if (!value) value = json_object_get(json_object_get(cycle.get(), "stats"), metric.member);
      if (!json_is_number(value)) continue;
      if (first) text.family(metric.name, "gauge", metric.help);
      first = false;
      text.sample(metric.name, label("cluster", cluster), json_number_value(value) * metric.scale);
    }
  }
}

}  // namespace

void Metrics::count_answer(unsigned status) noexcept {
  const auto* code = std::find(kCodes.begin(), kCodes.end() - 1, status);
  ++answers[static_cast<std::size_t>(code - kCodes.begin())];
}

std::string openmetrics(const Metrics& metrics, const WriterCounters& writer, const StoreFacts& store) {
  Text text;
  text.family("build", "info", "Version of mlqd.");
  text.sample("build_info", label("version", PACKAGE_VERSION), 1);
  text.family("requests", "counter", "Answers by HTTP status.");
  for (std::size_t i = 0; i < Metrics::kCodes.size(); ++i) {
    const std::string code = Metrics::kCodes[i] != 0 ? std::to_string(Metrics::kCodes[i]) : "other";
    text.sample("requests_total", label("code", code), static_cast<double>(metrics.answers[i]));
  }
  text.counter("reports_stored", "Losses written to the store.", static_cast<double>(writer.stored));
  text.counter("reports_repeated", "Losses that were there already.", static_cast<double>(writer.repeated));
  text.counter("reports_removed", "Losses removed by age or size.", static_cast<double>(writer.removed));
  text.counter("commits", "Transactions committed.", static_cast<double>(writer.commits));
  text.counter("commit_failures", "Transactions that failed.", static_cast<double>(writer.failures));
  text.counter("commit_seconds", "Time spent in transactions.", static_cast<double>(writer.commit_us) * 1e-6);
  text.counter("received_bytes", "Bytes of bodies read.", static_cast<double>(metrics.received_bytes));
  text.counter("evicted_connections", "Idle connections closed to make room.",
               static_cast<double>(metrics.evicted));
  text.gauge("write_queue", "Requests that wait for the store.", static_cast<double>(writer.queued_tasks));
  text.gauge("store_failing", "1 while the newest transaction failed.", writer.failing ? 1 : 0);
  text.gauge("store_bytes", "Bytes used in the store's file.", static_cast<double>(store.bytes));
  text.gauge("agents", "Agents that asked for their target in the last seconds.",
             static_cast<double>(metrics.agents));
  text.gauge("jobs", "Jobs that have not ended.", static_cast<double>(store.live_jobs));
  text.family("connections", "gauge", "Open connections.");
  text.sample("connections", label("listener", "jobs"), static_cast<double>(metrics.job_connections));
  text.sample("connections", label("listener", "local"), static_cast<double>(metrics.local_connections));
  write_cycles(text, store);
  return text.finish();
}

}  // namespace mlq::mlqd
