// SPDX-License-Identifier: GPL-2.0-or-later
// The sampler of the node, on folders that look like a kernel's, and its thread.
#include <dirent.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "tools/client/balance/mlq_balance.h"
#include "tools/client/balance/node_sampler.hpp"
#include "tools/client/balance/sampling_thread.hpp"

#include <check.h>  // last: its macros break standard headers

using namespace mlq::balance;

namespace {

constexpr std::uint64_t kMs = 1'000'000;

std::uint64_t wall_ns, own_ns;
SamplerClocks fake_clocks() {
  return {[] { return wall_ns; }, [] { return own_ns; }};
}

/// A folder with files as the kernel has them, for a process on the first core it may use.
struct Root {
  Root() {
    char name[] = "/tmp/mlq-sampler-XXXXXX";
    path = mkdtemp(name);
    wall_ns = own_ns = 0;
    cpu_set_t cores;
    ck_assert_int_eq(sched_getaffinity(0, sizeof cores, &cores), 0);
    while (!CPU_ISSET(first, &cores)) ++first;
    CPU_ZERO(&cores);
    CPU_SET(first, &cores);
    ck_assert_int_eq(sched_setaffinity(0, sizeof cores, &cores), 0);
    write("/proc/meminfo", "MemTotal:  9 kB\nMemAvailable:  2048 kB\n");
  }
  ~Root() { std::filesystem::remove_all(path); }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path + name).parent_path());
    std::ofstream(path + name) << text;
  }
  /// One line a core; `value` on ours, more on the others.
  std::string per_core(const std::string& before, std::uint64_t value, const std::string& after) const {
    std::string text = before.empty() ? "" : before + " 1 1 1 1 1 1 1 1 1 1\n";
    for (int core = 0; core <= first + 1; ++core)
      text += (before.empty() ? "" : before + std::to_string(core) + " ") +
              std::to_string(core == first ? value : 7 * value + 3) + after;
    return text;
  }
  std::string path;
  int first = 0;
};

START_TEST(share_by_ticks) {
  Root root;
  root.write("/proc/stat", root.per_core("cpu", 100, " 0 50 1000 5 0 0 0 0 0\n") + "intr 5\n");
  NodeSampler sampler(root.path, 0, fake_clocks());
  // One second later: 50 ticks in user mode, 20 of them ours; idle and waiting for disks are nobody's.
  wall_ns += 1000 * kMs;
  own_ns += 200 * kMs;
  root.write("/proc/stat", root.per_core("cpu", 150, " 0 50 1040 15 0 0 0 0 0\n"));
  const NodeState state = sampler.sample();
  ck_assert_double_eq_tol(state.cpu, 0.7, 1e-9);
  ck_assert_double_eq(state.memory, 2048 * 1024);
  ck_assert_double_eq(state.stall, 0);
}
END_TEST

START_TEST(share_by_nanoseconds) {
  Root root;
  const std::string usage = "/sys/fs/cgroup/cpuacct/cpuacct.usage_percpu";
  root.write(usage, root.per_core("", 5, " "));
  root.write("/proc/schedstat", "version 15\n" + root.per_core("cpu", 0, " 0 0 0 0 0 1000 7 9\n"));
  root.write("/proc/stat", root.per_core("cpu", 0, " 0 0 0 0 0 0 0\n"));
  {  // a group of cgroup v1 that is not the root says nothing of others
    NodeSampler sampler(root.path, 0, fake_clocks());
    wall_ns += 100 * kMs;
    root.write("/proc/schedstat", root.per_core("cpu", 0, " 0 0 0 0 0 60001000 7 9\n"));
    ck_assert_double_eq_tol(sampler.sample().cpu, 0.4, 1e-9);
  }
  root.write("/sys/fs/cgroup/cpuacct/release_agent", "\n");
  NodeSampler sampler(root.path, 0, fake_clocks());
  wall_ns += 100 * kMs;
  own_ns += 25 * kMs;
  root.write(usage, root.per_core("", 5 + 35 * kMs, " "));
  ck_assert_double_eq_tol(sampler.sample().cpu, 0.9, 1e-9);
  wall_ns += 10 * kMs;  // too short a stretch: what was found stands
  root.write(usage, root.per_core("", 5 + 45 * kMs, " "));
  ck_assert_double_eq_tol(sampler.sample().cpu, 0.9, 1e-9);
}
END_TEST

START_TEST(throttling_of_the_nearest_limited_group) {
  for (const bool v2 : {true, false}) {
    Root root;
    root.write("/proc/stat", root.per_core("cpu", 0, " 0 0 0 0 0 0 0\n"));
    const std::string mount = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu";
    const std::string limit = v2 ? "/cpu.max" : "/cpu.cfs_quota_us";
    const std::string key = v2 ? "throttled_usec " : "throttled_time ";
    const std::string milliseconds = v2 ? "000\n" : "000000\n";
    root.write("/proc/self/cgroup",
               v2 ? "1:name=systemd:/x\n0::/job/step/task\n" : "4:cpu,cpuacct:/job/step/task\n0::/\n");
    root.write(mount + "/job/step/task" + limit, v2 ? "max 100000\n" : "-1\n");
    root.write(mount + "/job/step" + limit, v2 ? "50000 100000\n" : "50000\n");
    root.write(mount + "/job/step/cpu.stat", "nr_periods 1\n" + key + "0\n");
    root.write(mount + "/job/cpu.stat", key + "999\n");
    NodeSampler sampler(root.path, 0, fake_clocks());
    wall_ns += 100 * kMs;
    root.write(mount + "/job/step/cpu.stat", "nr_periods 3\n" + key + "45" + milliseconds);
    ck_assert_double_eq_tol(sampler.sample().cpu, 0.55, 1e-9);
  }
}
END_TEST

START_TEST(stall_of_the_thread_or_pressure_of_the_group) {
  Root root;
  root.write("/proc/self/cgroup", "0::/job\n");
  root.write("/sys/fs/cgroup/job/cpu.pressure",
             "some avg10=0.00 avg60=0.00 avg300=0.00 total=100\nfull total=7\n");
  root.write("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n");
  {
    NodeSampler sampler(root.path, 0, fake_clocks());
    wall_ns += 100 * kMs;
    root.write("/sys/fs/cgroup/job/cpu.pressure",
               "some avg10=9.00 avg60=0.00 avg300=0.00 total=30100\nfull total=9\n");
    ck_assert_double_eq_tol(sampler.sample().stall, 0.3, 1e-9);
  }
  root.write("/proc/self/task/42/schedstat", "1000 500 3\n");
  NodeSampler sampler(root.path, 42, fake_clocks());
  wall_ns += 100 * kMs;
  root.write("/proc/self/task/42/schedstat", "45001000 15000500 9\n");
  ck_assert_double_eq_tol(sampler.sample().stall, 0.25, 1e-9);
  wall_ns += 100 * kMs;  // it waited for others and hardly ran: the share stands
  root.write("/proc/self/task/42/schedstat", "45101000 15000500 10\n");
  ck_assert_double_eq_tol(sampler.sample().stall, 0.25, 1e-9);
}
END_TEST

START_TEST(nothing_to_read) {
  Root root;
  std::filesystem::remove_all(root.path + "/proc");
  NodeSampler sampler(root.path, 1, fake_clocks());
  wall_ns += 100 * kMs;
  const NodeState state = sampler.sample();
  ck_assert_double_eq(state.cpu, 1);
  ck_assert_double_eq(state.memory, 0);
  ck_assert_double_eq(state.stall, 0);
}
END_TEST

int entries(const char* path) {
  DIR* folder = opendir(path);
  int count = 0;
  while (readdir(folder)) ++count;
  closedir(folder);
  return count;
}

mlq_balancer* make_balancer() {
  const mlq_balance_options options{
      .global_batch = 100, .ranks = 2, .rank = 0, .grain = 0, .policy = nullptr, .predictor = nullptr};
  mlq_balancer* balancer = mlq_balance_create(&options);
  ck_assert_ptr_nonnull(balancer);
  return balancer;
}

/// The thread called mlq-sample; "" when there is none.
std::string sampling_task() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm") >> std::ws, name);
    if (name == "mlq-sample") return task.path();
  }
  return {};
}

std::string blocked_signals(const std::string& task) {
  std::string line;
  std::ifstream status(task + "/status");
  while (std::getline(status, line))
    if (line.starts_with("SigBlk:")) return line.substr(8);
  return {};
}

START_TEST(one_thread_as_long_as_there_are_balancers) {
  const int tasks = entries("/proc/self/task");
  mlq_balance_destroy(make_balancer());
  const int files = entries("/proc/self/fd");
  mlq_balancer *first = make_balancer(), *second = make_balancer();
  ck_assert_int_eq(entries("/proc/self/task"), tasks + 1);
  mlq_balance_destroy(first);
  ck_assert_int_eq(entries("/proc/self/task"), tasks + 1);
  const std::string blocked = blocked_signals(sampling_task());
  const auto mask = std::stoull(blocked, nullptr, 16);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGCHLD, SIGALRM}) ck_assert(mask >> (signal - 1) & 1);
  mlq_balance_destroy(second);
  ck_assert_int_eq(entries("/proc/self/task"), tasks);
  ck_assert_int_eq(entries("/proc/self/fd"), files);
}
END_TEST

START_TEST(balancers_without_prediction_start_no_thread) {
  const int tasks = entries("/proc/self/task");
  const mlq_balance_options options{
      .global_batch = 100, .ranks = 2, .rank = 0, .grain = 0, .policy = "gpu", .predictor = nullptr};
  mlq_balancer* balancer = mlq_balance_create(&options);
  ck_assert_int_eq(entries("/proc/self/task"), tasks);
  mlq_balance_destroy(balancer);
}
END_TEST

START_TEST(a_forked_child_has_a_thread_of_its_own) {
  mlq_balancer* inherited = make_balancer();
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      int wrong = entries("/proc/self/task") != 3;  // . .. and the one that forked
      double vector[MLQ_BALANCE_FIELDS];
      mlq_balance_vector(inherited, 1, 50, vector);
      if (round % 2) mlq_balance_destroy(inherited);
      mlq_balancer* own = make_balancer();
      wrong |= entries("/proc/self/task") != 4 ? 2 : 0;
      mlq_balance_destroy(own);
      wrong |= entries("/proc/self/task") != 3 ? 4 : 0;
      _exit(wrong);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "round %d: status %d", round, status);
  }
  mlq_balance_destroy(inherited);
}
END_TEST

START_TEST(it_sees_a_neighbour_on_its_core) {
  const Root pinned;  // to one core
  mlq_balancer* balancer = make_balancer();
  const pid_t neighbour = fork();
  if (neighbour == 0) {
    alarm(20);
    for (;;) {
    }
  }
  double vector[MLQ_BALANCE_FIELDS], lowest = 1;
  for (int i = 0; i < 100 && lowest > 0.5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    mlq_balance_vector(balancer, 0, 0, vector);
    lowest = std::min(lowest, vector[3]);
  }
  kill(neighbour, SIGKILL);
  waitpid(neighbour, nullptr, 0);
  ck_assert_double_le(lowest, 0.5);
  mlq_balance_destroy(balancer);
}
END_TEST

}  // namespace

int main() {
  Suite* suite = suite_create("balance_sampler");
  TCase* files = tcase_create("files");
  tcase_add_test(files, share_by_ticks);
  tcase_add_test(files, share_by_nanoseconds);
  tcase_add_test(files, throttling_of_the_nearest_limited_group);
  tcase_add_test(files, stall_of_the_thread_or_pressure_of_the_group);
  tcase_add_test(files, nothing_to_read);
  suite_add_tcase(suite, files);
  TCase* thread = tcase_create("thread");
  tcase_set_timeout(thread, 120);
  tcase_add_test(thread, one_thread_as_long_as_there_are_balancers);
  tcase_add_test(thread, balancers_without_prediction_start_no_thread);
  tcase_add_test(thread, a_forked_child_has_a_thread_of_its_own);
  tcase_add_test(thread, it_sees_a_neighbour_on_its_core);
  suite_add_tcase(suite, thread);
  SRunner* runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
