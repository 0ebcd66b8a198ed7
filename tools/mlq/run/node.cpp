// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/node.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>

namespace mlq::run {
namespace {

constexpr double kBusyPause = 0.05;
constexpr std::size_t kPiece = 16384;  ///< of output; doubled by text_of_bytes() at worst

Place place_of(const Message& order, std::int64_t local) {
  return {order.generation, order.rank + local, order.world, local,       order.ranks,
          order.address,    order.port,         order.units, order.cores, order.flag};
}

Message about(Kind kind, std::int64_t generation) {
  Message message;
  message.kind = kind;
  message.generation = generation;
  return message;
}

}  // namespace

Node::Node(Loop& loop, Processes& processes, Tell tell, Busy busy)
    : loop_(loop),
      processes_(processes),
      tell_(std::move(tell)),
      busy_(std::move(busy)),
      socket_(loop, [this](const Message& message) { from_worker(message); }) {}

Node::~Node() {
  loop_.cancel(kill_timer_);
  for (auto& worker : workers_) finish_output(*worker);
}

void Node::prepare(Message welcome, std::int64_t cores, bool inherit_output) {
  welcome_ = std::move(welcome);
  cores_ = cores;
  inherit_output_ = inherit_output;
}

void Node::handle(const Message& order) {
  switch (order.kind) {
    case Kind::start:
      start(order);
      break;
    case Kind::reform:
      reform(order);
      break;
    case Kind::signal:
      signal_all(static_cast<int>(order.number));
      break;
    case Kind::stop:
      stop(order);
      break;
    default:
      break;
  }
}

void Node::start(const Message& order) {
  if (alive_ > 0) return;  // a head stops them first
  socket_.forget_all();
  workers_.clear();
  stopping_ = false;
  loop_.cancel(kill_timer_);
  generation_ = started_ = order.generation;
  formed_ = attached_ = ready_ = 0;
  alive_ = static_cast<std::size_t>(order.ranks);
  workers_.reserve(alive_);
  for (std::int64_t local = 0; local < order.ranks; ++local) start_worker(order, local);
}

void Node::start_worker(const Message& order, std::int64_t local) {
  workers_.push_back(std::make_unique<Worker>());
  Worker& worker = *workers_.back();
  worker.rank = order.rank + local;
  Program program{welcome_.command,
                  worker_environment(welcome_.environment, place_of(order, local), socket_.name(), cores_),
                  welcome_.directory};
  std::array<int, 2> out{-1, -1}, err{-1, -1};
  std::string error;
  const bool piped = !inherit_output_;
  if (piped && (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0))
    error = "no pipe for its output";
  program.output = out[1];
  program.error = err[1];
  const auto index = static_cast<std::size_t>(local);
  if (error.empty())
    worker.pid = processes_.start(
        program,
        [this, index, generation = order.generation](int status) { ended(index, generation, status); },
        error);
  if (out[1] >= 0) close(out[1]);
  if (err[1] >= 0) close(err[1]);
  worker.out = {out[0], LineBuffer(prefix_of(worker.rank))};
  worker.err = {err[0], LineBuffer(prefix_of(worker.rank))};
  listen(worker, worker.out, 1);
  listen(worker, worker.err, 2);
  if (worker.pid >= 0) return;
  const std::string text = "mlq: error: cannot start \"" + welcome_.command.front() + "\" in " +
                           welcome_.directory + ": " + error + "\n";
  send_output(worker, 2, text);
  // as a shell: 127 for a command that is not there
  loop_.defer([this, index, generation = order.generation] { ended(index, generation, 127 << 8); });
}

std::string Node::prefix_of(std::int64_t rank) const {
  return welcome_.flag ? "[" + std::to_string(rank) + "] " : "";
}

void Node::listen(Worker& worker, Stream& stream, int number) {
  if (stream.fd < 0) return;
  fcntl(stream.fd, F_SETFL, O_NONBLOCK);
  loop_.watch(stream.fd, POLLIN,
              [this, &worker, &stream, number](short) { read_output(worker, stream, number); });
}

void Node::read_output(Worker& worker, Stream& stream, int number) {
  if (busy_()) {
    loop_.unwatch(stream.fd);
    loop_.after(Seconds(kBusyPause), [this, rank = worker.rank, generation = generation_, number] {
      for (auto& other : workers_)
        if (generation == generation_ && other->rank == rank)
          listen(*other, number == 1 ? other->out : other->err, number);
    });
    return;
  }
  std::array<char, kPiece> chunk;
  const ssize_t got = read(stream.fd, chunk.data(), chunk.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) {
    send_output(worker, number, stream.lines.take({chunk.data(), static_cast<std::size_t>(got)}));
    return;
  }
  send_output(worker, number, stream.lines.rest());
  loop_.unwatch(stream.fd);
  close(stream.fd);
  stream.fd = -1;
}

void Node::finish_output(Worker& worker) {
  for (Stream* stream : {&worker.out, &worker.err}) {
    const int number = stream == &worker.out ? 1 : 2;
    std::array<char, kPiece> chunk;
    while (stream->fd >= 0) {  // what is in the pipe; its writers are gone, or were told to go
      const ssize_t got = read(stream->fd, chunk.data(), chunk.size());
      if (got > 0)
        send_output(worker, number, stream->lines.take({chunk.data(), static_cast<std::size_t>(got)}));
      if (got > 0 || (got < 0 && errno == EINTR)) continue;
      send_output(worker, number, stream->lines.rest());
      loop_.unwatch(stream->fd);
      close(stream->fd);
      stream->fd = -1;
    }
  }
}

void Node::send_output(const Worker& worker, int number, const std::string& bytes) {
  if (bytes.empty()) return;
  Message message = about(Kind::output, generation_);
  message.rank = worker.rank;
  message.number = number;
  message.text = text_of_bytes(bytes);
  tell_(message);
}

void Node::ended(std::size_t local, std::int64_t generation, int wait_status) {
  if (generation != started_ || local >= workers_.size() || workers_[local]->ended) return;
  Worker& worker = *workers_[local];
  worker.ended = true;
  finish_output(worker);
  --alive_;
  Message message = about(Kind::exited, generation_);
  message.rank = worker.rank;
  message.local_rank = static_cast<std::int64_t>(local);
  message.status = exit_code(wait_status);
  message.number = wait_status & 0x7f;
  tell_(message);
  if (alive_ > 0) return;
  loop_.cancel(kill_timer_);
  stopping_ = false;
  tell_(about(Kind::stopped, generation_));
}

void Node::reform(const Message& order) {
  generation_ = order.generation;
  formed_ = 0;
  formed_seconds_ = 0;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const auto local = static_cast<std::int64_t>(i);
    Message message = order;
    message.rank = order.rank + local;
    message.local_rank = local;
    if (order.ranks > 0) {
      workers_[i]->rank = message.rank;
      for (Stream* stream : {&workers_[i]->out, &workers_[i]->err})
        stream->lines.set_prefix(prefix_of(message.rank));
    }
    socket_.send(local, message);
  }
  if (order.ranks > 0) return;
  // leavers end by themselves at an iteration boundary; whoever has not when the lead time is over is ended
  loop_.cancel(kill_timer_);
  kill_timer_ = loop_.after(Seconds(order.seconds), [this] {
    kill_timer_ = 0;
    Message end = about(Kind::stop, generation_);
    end.number = SIGTERM;
    end.seconds = welcome_.seconds;
    stop(end);
  });
}

void Node::stop(const Message& order) {
  if (alive_ == 0) {
    tell_(about(Kind::stopped, generation_));
    return;
  }
  if (stopping_ && order.seconds > 0) return;
  stopping_ = true;
  signal_all(order.number > 0 ? static_cast<int>(order.number) : SIGTERM);
  signal_all(SIGCONT);
  loop_.cancel(kill_timer_);
  kill_timer_ = loop_.after(Seconds(order.seconds), [this] {
    kill_timer_ = 0;
    signal_all(SIGKILL);
  });
}

void Node::signal_all(int number) {
  for (const auto& worker : workers_)
    if (!worker->ended && worker->pid > 0) processes_.signal(worker->pid, number);
}

void Node::from_worker(const Message& message) {
  if (message.local_rank < 0 || message.local_rank >= static_cast<std::int64_t>(workers_.size())) return;
  const std::size_t all = workers_.size();
  if (message.kind == Kind::attached && ++attached_ == all) tell_(about(Kind::attached, generation_));
  if (message.kind == Kind::ready && ++ready_ == all) tell_(about(Kind::ready, generation_));
  if (message.kind != Kind::formed || message.generation != generation_) return;
  formed_seconds_ = std::max(formed_seconds_, message.seconds);
  if (++formed_ < all) return;
  Message formed = about(Kind::formed, generation_);
  formed.seconds = formed_seconds_;
  tell_(formed);
}

}  // namespace mlq::run
