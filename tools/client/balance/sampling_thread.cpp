// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/client/balance/sampling_thread.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <mutex>

namespace mlq::balance {
namespace {

constexpr double kShareOfCore = 0.8e-3;  ///< with the exchange less than 0.2 % of an iteration of 100 ms
constexpr double kLongest = 1000;        // ms between two samples

/// The one thread of this process; its lock is held over a fork, so that the child finds it usable.
struct Registry {
  std::mutex lock;
  std::weak_ptr<SamplingThread> thread;
  pid_t process = 0;
};

Registry& registry() {
  static Registry only;
  static const int hooked = pthread_atfork([] { registry().lock.lock(); }, [] { registry().lock.unlock(); },
                                           [] { registry().lock.unlock(); });
  (void)hooked;
  return only;
}

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double cpu_milliseconds() {
  return 1000 * seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

double milliseconds() {
  return 1000 * seconds_of(CLOCK_MONOTONIC);
}

}  // namespace

std::shared_ptr<SamplingThread> SamplingThread::of_this_process() {
  Registry& known = registry();
  const std::lock_guard lock(known.lock);
  if (known.process == getpid())
    if (auto thread = known.thread.lock()) return thread;
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  std::shared_ptr<SamplingThread> thread(new SamplingThread);
  if (!thread->start()) return nullptr;
  known.thread = thread;
  known.process = getpid();
  return thread;
}

SamplingThread::SamplingThread() : sampler_("", gettid()), process_(getpid()) {}

bool SamplingThread::start() {
  stop_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (stop_ < 0) return false;
  memory_ = sampler_.sample().memory;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto entry = [](void* self) -> void* {
    static_cast<SamplingThread*>(self)->run();
    return nullptr;
  };
  running_ = pthread_create(&thread_, nullptr, entry, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (running_) pthread_setname_np(thread_, "mlq-sample");
  return running_;
}

SamplingThread::~SamplingThread() {
  if (running_ && process_ == getpid()) {
    eventfd_write(stop_, 1);
    pthread_join(thread_, nullptr);
  }
  if (stop_ >= 0) close(stop_);
}

NodeState SamplingThread::newest() {
  // In a forked child the lock may be held for ever, and the descriptors are the parent's.
  if (process_ == getpid() && guard_.try_lock()) {
    const std::lock_guard lock(guard_, std::adopt_lock);
    // Many cores make the kernel's files long: then the thread alone reads them.
    if (cost_ < std::chrono::duration<double, std::milli>(kInline).count()) sample();
  }
  return {cpu_.load(std::memory_order_relaxed), memory_.load(std::memory_order_relaxed),
          stall_.load(std::memory_order_relaxed)};
}

void SamplingThread::sample() {
  const double start = cpu_milliseconds();
  const NodeState state = sampler_.sample();
  const double took = cpu_milliseconds() - start;
  cost_ += cost_ > 0 ? 0.2 * (took - cost_) : took;
  cpu_.store(state.cpu, std::memory_order_relaxed);
  memory_.store(state.memory, std::memory_order_relaxed);
  stall_.store(state.stall, std::memory_order_relaxed);
}

void SamplingThread::run() {
  const double shortest = std::chrono::duration<double, std::milli>(kInterval).count();
  double wait = shortest, next = milliseconds() + wait, spent = cpu_milliseconds(), cost = 0;
  for (;;) {
    poster_.work();
    if (poster_.wait(stop_, std::max(0, static_cast<int>(next - milliseconds())))) break;
    if (milliseconds() < next) continue;
    {
      const std::lock_guard lock(guard_);
      sample();
    }
    // From one sample to the next: waking up costs more than reading.
    const double now = cpu_milliseconds();
    cost += 0.2 * (now - spent - cost);
    spent = now;
    wait = std::clamp(cost / kShareOfCore, shortest, kLongest);
    next = milliseconds() + wait;
  }
  poster_.close();
}

}  // namespace mlq::balance
