// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/output.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace mlq::run {
namespace {

constexpr std::size_t kPiece =
    4096;  ///< PIPE_BUF: a pipe that poll() calls writable takes so much without blocking

}  // namespace

std::string LineBuffer::take(std::string_view bytes) {
  std::string done;
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto size =
        std::min(end == std::string_view::npos ? bytes.size() : end + 1, kLongest - line_.size());
    line_.append(bytes.substr(0, size));
    bytes.remove_prefix(size);
    if (line_.ends_with('\n') || line_.size() == kLongest) {
      done += prefix_ + line_;
      line_.clear();
    }
  }
  return done;
}

std::string LineBuffer::rest() {
  if (line_.empty()) return {};
  std::string last = prefix_ + line_;
  if (!prefix_.empty()) last += '\n';
  line_.clear();
  return last;
}

void Sink::write(std::string_view bytes) {
  if (bytes.empty()) return;
  waiting_.append(bytes);
  loop_.watch(fd_, POLLOUT, [this](short) { write_some(); });
}

void Sink::write_some() {
  const ssize_t done = ::write(fd_, waiting_.data(), std::min(waiting_.size(), kPiece));
  if (done < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (done < 0) lose(errno);
  if (done > 0) waiting_.erase(0, static_cast<std::size_t>(done));
  if (waiting_.empty()) loop_.unwatch(fd_);
}

/// The training goes on. A reader that went away wants no word of it; a disk that is full may have room
/// again.
void Sink::lose(int error) {
  waiting_.clear();
  if (error == EPIPE || said_ || fd_ == STDERR_FILENO) return;
  said_ = true;
  std::fprintf(stderr, "mlq: error: output of the training cannot be written: %s\n", std::strerror(error));
}

void Sink::drain(Seconds limit) {
  const auto end = Clock::now() + limit;
  while (!waiting_.empty() && Clock::now() < end) {
    pollfd file{fd_, POLLOUT, 0};
    if (poll(&file, 1, 100) > 0) write_some();
  }
  waiting_.clear();
  loop_.unwatch(fd_);
}

}  // namespace mlq::run
