// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/client/balance/node_sampler.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <fstream>
#include <utility>

namespace mlq::balance {
namespace {

constexpr std::uint64_t kTick = 10'000'000;  ///< ns; USER_HZ is 100 on every machine that runs Slurm
constexpr std::uint64_t kShortest = 2 * kTick;

std::uint64_t clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

std::string_view next_line(std::string_view& text) {
  const auto end = text.find('\n');
  const auto line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

/// The next whole number of a line; false when there is none.
bool next_number(std::string_view& line, std::uint64_t& value) {
  const auto start = line.find_first_of("0123456789");
  if (start == std::string_view::npos) return false;
  line.remove_prefix(start);
  const auto [end, code] = std::from_chars(line.data(), line.data() + line.size(), value);
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  return code == std::errc();
}

/// The number `index` (from 0) behind `key` at the start of a line; 0 if there is none.
std::uint64_t number_after(std::string_view text, std::string_view key, int index = 0) {
  while (!text.empty()) {
    std::string_view line = next_line(text);
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    std::uint64_t value = 0;
    for (int i = 0; i <= index; ++i)
      if (!next_number(line, value)) return 0;
    return value;
  }
  return 0;
}

/// The path behind `controller` in /proc/self/cgroup; "" for v2's own line, which names none.
std::string cgroup_of(const std::string& root, std::string_view controller, bool& found) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::string line;
  found = false;
  while (std::getline(file, line)) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    if (names != "," + std::string(controller) + "," &&
        (controller.empty() || names.find("," + std::string(controller) + ",") == std::string::npos))
      continue;
    found = true;
    return line.substr(second + 1);
  }
  return {};
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  return text;
}

/// The nearest folder from `path` up that has a limit of CPU time: only that one counts throttling.
std::string limited_folder(const std::string& mount, std::string path, const std::string& limit,
                           std::string_view unlimited) {
  for (;;) {
    const std::string text = text_of(mount + path + "/" + limit);
    if (!text.empty() && !text.starts_with(unlimited)) return mount + path;
    const auto slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return {};
    path.resize(slash);
  }
}

}  // namespace

KernelFile::KernelFile(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

KernelFile::~KernelFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

KernelFile::KernelFile(KernelFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

KernelFile& KernelFile::operator=(KernelFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

std::string_view KernelFile::read(std::vector<char>& buffer) const {
  if (descriptor_ < 0) return {};
  const ssize_t size = pread(descriptor_, buffer.data(), buffer.size(), 0);
  return size > 0 ? std::string_view(buffer.data(), static_cast<std::size_t>(size)) : std::string_view();
}

SamplerClocks real_clocks() {
  return {[] { return clock_ns(CLOCK_MONOTONIC); }, [] { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }};
}

NodeSampler::NodeSampler(const std::string& root, pid_t thread, SamplerClocks clocks)
    : clocks_(clocks), memory_(root + "/proc/meminfo"), buffer_(std::size_t{1} << 16) {
  CPU_ZERO(&cores_);
  if (sched_getaffinity(0, sizeof cores_, &cores_) != 0) CPU_SET(0, &cores_);
  find_running(root);
  find_limits(root);
  thread_ = KernelFile(root + "/proc/self/" + (thread > 0 ? "task/" + std::to_string(thread) + "/" : "") +
                       "schedstat");
  last_ = read();
}

void NodeSampler::find_running(const std::string& root) {
  for (const std::string folder : {"/sys/fs/cgroup/cpuacct/", "/sys/fs/cgroup/cpu,cpuacct/"}) {
    // Only the true root has a release agent; a container sees its own group as the root.
    if (access((root + folder + "release_agent").c_str(), F_OK) != 0) continue;
    running_ = KernelFile(root + folder + "cpuacct.usage_percpu");
    kind_ = Running::cpuacct;
    if (running_.open()) return;
  }
  running_ = KernelFile(root + "/proc/schedstat");
  kind_ = Running::schedstat;
  if (running_.open() && running() > 0) return;
  running_ = KernelFile(root + "/proc/stat");
  kind_ = Running::stat;
}

void NodeSampler::find_limits(const std::string& root) {
  bool v2 = false, v1 = false;
  const std::string path2 = cgroup_of(root, "", v2), path1 = cgroup_of(root, "cpu", v1);
  const std::string mount = root + "/sys/fs/cgroup";
  if (v1) {
    const std::string folder = limited_folder(mount + "/cpu", path1, "cpu.cfs_quota_us", "-1");
    if (!folder.empty()) throttle_ = KernelFile(folder + "/cpu.stat");
  } else if (v2) {
    throttle_unit_ = 1000;
    const std::string folder = limited_folder(mount, path2, "cpu.max", "max");
    if (!folder.empty()) throttle_ = KernelFile(folder + "/cpu.stat");
  }
  if (v2) pressure_ = KernelFile(mount + path2 + "/cpu.pressure");
  if (!pressure_.open()) pressure_ = KernelFile(root + "/proc/pressure/cpu");
}

/// ns that anybody ran on the cores of this process.
std::uint64_t NodeSampler::running() {
  std::string_view text = running_.read(buffer_);
  std::uint64_t sum = 0, value = 0;
  if (kind_ == Running::cpuacct) {
    for (std::size_t core = 0; core < CPU_SETSIZE && next_number(text, value); ++core)
      if (CPU_ISSET(core, &cores_)) sum += value;
    return sum;
  }
  while (!text.empty()) {
    std::string_view line = next_line(text);
    std::uint64_t core = 0;
    if (!line.starts_with("cpu") || line.size() < 4 || line[3] < '0' || line[3] > '9') continue;
    if (!next_number(line, core) || core >= CPU_SETSIZE || !CPU_ISSET(core, &cores_)) continue;
    // schedstat: the 7th number, ns. stat: user nice system idle iowait irq softirq steal, ticks.
    for (int field = 0; field < 8 && next_number(line, value); ++field) {
      if (kind_ == Running::schedstat) sum += field == 6 ? value : 0;
      if (kind_ == Running::stat) sum += field == 3 || field == 4 ? 0 : value * kTick;
    }
  }
  return sum;
}

NodeSampler::Times NodeSampler::read() {
  Times times;
  times.wall = clocks_.wall();
  times.own = clocks_.own();
  times.running = running();
  const std::string_view limits = throttle_.read(buffer_);
  times.throttled =
      throttle_unit_ * number_after(limits, throttle_unit_ == 1 ? "throttled_time" : "throttled_usec");
  const std::string_view thread = thread_.read(buffer_);
  times.ran = number_after(thread, "", 0);
  times.waited = number_after(thread, "", 1);
  if (!thread_.open()) {
    std::string_view pressure = pressure_.read(buffer_);
    const auto total = pressure.find("total=");
    if (total != std::string_view::npos)
      times.pressure = 1000 * number_after(pressure.substr(total), "total=");
  }
  return times;
}

double NodeSampler::share(const Times& now) const {
  const double passed = static_cast<double>(now.wall - last_.wall);
  const double others = static_cast<double>(now.running) - static_cast<double>(last_.running) -
                        (static_cast<double>(now.own) - static_cast<double>(last_.own));
  const double throttled = static_cast<double>(now.throttled) - static_cast<double>(last_.throttled);
  const double cores = std::max(1, CPU_COUNT(&cores_));
  return std::clamp(1 - std::max(0.0, others) / (cores * passed) - throttled / passed, 0.0, 1.0);
}

double NodeSampler::stall(const Times& now) const {
  const double waited = static_cast<double>(now.waited) - static_cast<double>(last_.waited);
  const double ran = static_cast<double>(now.ran) - static_cast<double>(last_.ran);
  const double passed = static_cast<double>(now.wall - last_.wall);
  if (!thread_.open())
    return std::clamp(static_cast<double>(now.pressure - last_.pressure) / passed, 0.0, 1.0);
  // A thread that only waits for other ranks says nothing about its core: the last share stands.
  return waited + ran < 0.05 * passed ? state_.stall : std::clamp(waited / (waited + ran), 0.0, 1.0);
}

NodeState NodeSampler::sample() {
  const Times now = read();
  // A stretch of few ticks says nothing, the last shares stand.
  if (now.wall > last_.wall + kShortest) {
    state_.cpu = share(now);
    state_.stall = stall(now);
    last_ = now;
  }
  state_.memory = 1024.0 * static_cast<double>(number_after(memory_.read(buffer_), "MemAvailable:"));
  return state_;
}

}  // namespace mlq::balance
