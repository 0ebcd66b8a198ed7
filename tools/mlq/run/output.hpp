// SPDX-License-Identifier: GPL-2.0-or-later
// Output of workers on its way to the agent's own stdout and stderr, which may be slow.
#pragma once

#include <string>
#include <string_view>

#include "tools/mlq/run/loop.hpp"

namespace mlq::run {

/// Takes whatever comes out of one stream and hands on whole lines, each behind its rank when that is asked
/// for.
class LineBuffer {
 public:
  static constexpr std::size_t kLongest =
      65536;  ///< a line that goes on after so many bytes is handed on in pieces

  /// "" = no prefix.
  explicit LineBuffer(std::string prefix) : prefix_(std::move(prefix)) {}
  void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }
  std::string take(std::string_view bytes);
  std::string rest();  ///< what is left when the stream ends

 private:
  std::string prefix_, line_;
};

/// Writes to a descriptor without ever waiting for it.
class Sink {
 public:
  static constexpr std::size_t kFull = std::size_t{1} << 20;

  Sink(Loop& loop, int fd) : loop_(loop), fd_(fd) {}
  void write(std::string_view bytes);
  bool full() const { return waiting_.size() >= kFull; }
  /// Waits until everything is written, at most so long.
  void drain(Seconds limit);

 private:
  void write_some();
  void lose(int error);
  Loop& loop_;
  int fd_;
  std::string waiting_;
  bool said_ = false;  ///< that something could not be written
};

}  // namespace mlq::run
