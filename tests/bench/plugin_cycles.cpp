// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/bench/plugin_cycles.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "tests/bench/agent_crowd.hpp"

namespace bench {
namespace {

constexpr unsigned kJobsPerMessage = 200;  // as the engine does
constexpr int kPagesPerCycle = 16;

void say(mlq_log_level_t level, const char* line) {
  if (level == MLQ_LOG_ERROR) std::fprintf(stderr, "plugin: %s\n", line);
}

/// As long as what the engine tells of a job that it resizes.
std::string job_text(unsigned job, unsigned round, long submit) {
  const std::string why =
      "4 units: one more would bring 0.0123 of its reachable reduction, the best offer waits for less, " +
      target_mark(round);
  char text[2048];
  std::snprintf(
      text, sizeof text,
      R"({"job_id":%u,"submit":%ld,"restarts":0,"uid":1000,"user":"ann","account":"physics",)"
      R"("partition":"batch","name":"resnet50","family":"resnet50","request":"resize=companion,max=16",)"
      R"("state":"RUNNING","ended":false,"start":%ld,"cores":2,"status":{"verdict":"improving",)"
      R"("iteration":12345,"loss":0.123456,"first_loss":2.3025851,"best_loss":0.1201,"points":1800,)"
      R"("last_report":1790000000.25,"fraction":0.912345678,"model":"power","rate":4.251234,)"
      R"("forecast":{"iterations":255.1,"now":0.1231,"predicted":0.1187,"lower":0.1101,"upper":0.1244},)"
      R"("gain":0.00213456,"gain_per_core":0.00106728,"horizon":60,"core_seconds":7200.5,"source":"curve",)"
      R"("score":0.512345,"rank":%u,"ranked":4000,"site_factor":5123,)"
      R"("reason":"rank %u of 4000 running ML jobs: its curve (improving) promises 0.00213 of its reachable )"
      R"(reduction in the next 60 s on 2 cores, 0.00107 per core","target":{"units":%u,"base":2,"held":4,)"
      R"("grants":[{"partition":"batch","units":1}],"lead":30,"since":%ld,"reason":"%s"},)"
      R"("resize":{"reason":"%s","change":"grew by a companion of 2 units","companions":[{"job_id":900001,)"
      R"("units":2,"state":"RUNNING"}]},"usage":{"base":4000.1,"companions":3200.4,"earlier":0,)"
      R"("companion_jobs":1}}})",
      job, submit, submit + 5, job, job, 4 + round % 2, submit + round, why.c_str(), why.c_str());
  return text;
}

std::string message(unsigned first, unsigned last, unsigned round, long submit) {
  std::string text =
      R"({"v":1,"cluster":"bench","time":)" + std::to_string(std::time(nullptr)) +
      R"(,"mode":"active","weight":10000,"horizon":60,"interval":3,"stats":{"pull_ms":1},"jobs":[)";
  for (unsigned job = first; job <= last; ++job) {
    if (job != first) text += ',';
    text += job_text(job, round, submit);
  }
  return text + "]}";
}

}  // namespace

Plugin::Plugin(const Mlqd& mlqd, unsigned jobs) : jobs_(jobs), client_("bench", mlq::engine::Log(say)) {
  mlq_config_t config;
  // longer than the plugin's own second: a cycle that is too long is to be measured, not cut off
  mlq_config_parse(("mlq_timeout=30000,mlq_url=unix:" + mlqd.socket()).c_str(), &config, say);
  client_.configure(config);
}

Plugin::~Plugin() {
  stop();
}

bool Plugin::push() {
  ++round_;
  bool good = true;
  double spent = 0;
  constexpr long kSubmit = 1'780'000'000;
  client_.start_cycle();
  for (unsigned first = 1; first <= jobs_; first += kJobsPerMessage) {
    const std::string text = message(first, std::min(jobs_, first + kJobsPerMessage - 1), round_, kSubmit);
    const double began = seconds();
    figures_.pushed.try_emplace(round_, began);
    good &= client_.cycle(text, static_cast<double>(std::time(nullptr)));
    spent += seconds() - began;
  }
  figures_.pushes.push_back(spent);
  if (!good) ++figures_.failures;
  return good;
}

void Plugin::cycle() {
  const double began = seconds();
  client_.start_cycle();
  mlq::engine::PointsPage page;
  for (int i = 0; i < kPagesPerCycle && (i == 0 || page.more); ++i) {
    page = {};
    if (!client_.points(after_, static_cast<double>(std::time(nullptr)), page)) {
      ++figures_.failures;
      break;
    }
    after_ = page.next;
    figures_.points += page.points.size();
    figures_.agents += page.agents.size();
  }
  figures_.pulls.push_back(seconds() - began);
  push();
  figures_.cycles.push_back(figures_.pulls.back() + figures_.pushes.back());
}

void Plugin::start(double interval) {
  figures_ = {};
  thread_ = std::thread([this, interval] {
    for (double next = seconds(); !stopping_;) {
      if (const double left = next - seconds(); left > 0) {
        std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, 0.05)));
        continue;
      }
      cycle();
      next = std::max(seconds(), next + interval);
    }
  });
}

PluginFigures Plugin::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  return figures_;
}

}  // namespace bench
