// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/link.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace mlq::run {

Link::Link(Loop& loop, int fd, Take take, Closed closed)
    : loop_(loop), fd_(fd), take_(std::move(take)), closed_(std::move(closed)) {
  const int yes = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  watch();
  beat_ = loop_.after(Seconds(kPing), [this] { beat(); });
}

Link::~Link() {
  *alive_ = false;
  loop_.cancel(beat_);
  if (fd_ < 0) return;
  loop_.unwatch(fd_);
  close(fd_);
}

void Link::listen(Take take, Closed closed) {
  take_ = std::move(take);
  closed_ = std::move(closed);
}

void Link::trust() {
  line_max_ = kLineMax;
}

void Link::watch() {
  if (fd_ < 0) return;
  const short events = output_.empty() ? POLLIN : POLLIN | POLLOUT;
  loop_.watch(fd_, events, [this](short found) { ready(found); });
}

void Link::send(const Message& message) {
  if (fd_ < 0) return;
  const bool idle = output_.empty();
  output_ += to_line(message);
  if (output_.size() > kOutputMax)
    loop_.defer([this, alive = alive_] {
      if (*alive) close_for("it does not read what it is sent");
    });
  if (idle) watch();
}

void Link::flush(Seconds limit) {
  const auto end = Clock::now() + limit;
  while (fd_ >= 0 && !output_.empty() && Clock::now() < end) {
    pollfd file{fd_, POLLOUT, 0};
    if (poll(&file, 1, 100) > 0 && !write_some()) return;
  }
}

bool Link::write_some() {
  const ssize_t done = ::send(fd_, output_.data(), output_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (done > 0) output_.erase(0, static_cast<std::size_t>(done));
  return done >= 0 || errno == EAGAIN || errno == EINTR;
}

bool Link::read_some() {
  std::array<char, 65536> chunk;
  const ssize_t got = recv(fd_, chunk.data(), chunk.size(), MSG_DONTWAIT);
  if (got > 0) {
    input_.append(chunk.data(), static_cast<std::size_t>(got));
    heard_ = Clock::now();
  }
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

void Link::ready(short events) {
  const auto alive = alive_;
  if ((events & POLLOUT) && !write_some()) {
    close_for(std::strerror(errno));
    return;
  }
  if (output_.empty()) watch();
  if (!(events & (POLLIN | POLLHUP | POLLERR))) return;
  const bool open = read_some();
  std::vector<std::string> lines;
  if (!cut_messages(input_, line_max_, lines)) {
    close_for("it sent a line that is too long");
    return;
  }
  for (const std::string& line : lines) {
    std::string error;
    const auto message = parse_message(line, error);
    if (!message) {
      close_for("it sent what is no message: " + error);
      return;
    }
    if (message->kind == Kind::ping) continue;
    const Take take = take_;  // a copy: it may be replaced, or the link destroyed
    take(*message);
    if (!*alive) return;
  }
  if (!open) close_for("the connection ended");
}

void Link::beat() {
  beat_ = loop_.after(Seconds(kPing), [this] { beat(); });
  const auto now = Clock::now();
  // who was stopped itself (scontrol suspend) cannot say who was silent meanwhile
  if (now - beat_at_ > Seconds(2 * kPing)) heard_ = now;
  beat_at_ = now;
  if (now - heard_ > Seconds(kSilence)) {
    close_for("it was silent for 10 seconds");
    return;
  }
  send(Message{});  // a ping
}

void Link::close_for(const std::string& why) {
  if (fd_ < 0) return;
  loop_.unwatch(fd_);
  close(fd_);
  fd_ = -1;
  *alive_ = false;
  loop_.cancel(beat_);
  const Closed closed = closed_;
  if (closed) closed(why);
}

}  // namespace mlq::run
