// SPDX-License-Identifier: GPL-2.0-or-later
// What agents ask for every second, kept as text until the job changes, and how often they are to ask.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace mlq::mlqd {

/// Any thread. No clock: `now` is in seconds of a monotonic clock.
class TargetAnswers {
 public:
  static constexpr double kKept = 60;                ///< seconds, for what changes without a word, as by age
  static constexpr double kLongest = 10;             ///< seconds from one poll to the next, at most
  static constexpr std::size_t kMost = 65536;        ///< jobs
  static constexpr std::size_t kLongestText = 8192;  ///< bytes; a longer answer is made anew each time

  using Text = std::shared_ptr<const std::string>;
  struct Asked {
    Text text;                 ///< nullptr: it has to be read from the store
    std::uint64_t ticket = 0;  ///< for keep(), when what is to be kept is read from now on
  };

  /// polls: how many a second all agents together may make before they are told to ask less often. > 0.
  void limit(double polls);

  Asked ask(const std::string& cluster, std::uint32_t job_id, double now);
  /// Drops the text when the job has changed since the ticket was drawn.
  void keep(const std::string& cluster, std::uint32_t job_id, std::uint64_t ticket, Text text, double now);
  /// The job has changed, and the change can be read.
  void changed(const std::string& cluster, std::uint32_t job_id);

  /// Jobs that asked within a period of 15 s, the last full one or the present one.
  std::size_t agents(double now);
  std::size_t size();

  /// Seconds from one poll of an agent to the next: 1, or more when there are many.
  double pause(double now);

 private:
  struct Entry {
    Text text;
    std::uint64_t ticket = 0;
    double until = 0;
    std::int64_t asked = -1;  ///< period of its last question
  };
  void count(Entry& entry, double now);
  void turn(double now);
  void make_room(double now);

  std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
  std::uint64_t tickets_ = 0;
  double polls_ = 4000;
  std::int64_t period_ = 0;
  std::size_t asking_ = 0, asked_before_ = 0;  ///< jobs in this period and the one before
};

}  // namespace mlq::mlqd
