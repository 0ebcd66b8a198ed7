// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/bench/agent_crowd.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace bench {
namespace {

constexpr std::array<double, 3> kEvery = {1, 10, 1};  // seconds, by Crowd::Kind
constexpr std::string_view kMark = "of round ";
constexpr std::string_view kPoll = "\"poll\":";

std::size_t take(char* data, std::size_t size, std::size_t count, void* to) {
  static_cast<std::string*>(to)->append(data, size * count);
  return size * count;
}

std::string state_body() {
  char text[320];
  std::snprintf(text, sizeof text,
                R"({"v":1,"time":%ld,"phase":"steady","generation":3,"units":4,"ranks":4,"moves":2,)"
                R"("lost_s":4.5,"move_s":2.1,"companions":[{"job_id":900001,"units":2,"state":"RUNNING"}]})",
                static_cast<long>(std::time(nullptr)));
  return text;
}

}  // namespace

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string target_mark(unsigned round) {
  return std::string(kMark) + std::to_string(round) + ".";
}

struct Crowd::Client {
  Kind kind = Kind::poll;
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  curl_slist* address = nullptr;
  std::string stream, body, answer;
  double began = 0;
  long next_point = 0;
  unsigned seen = 0;  ///< newest round
  double pause = 1;   ///< s of an agent, as mlqd told it
};

Crowd::Crowd(const Mlqd& mlqd, const CrowdOptions& options)
    : options_(options), multi_(curl_multi_init()), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!multi_ || epoll_ < 0) throw std::runtime_error("no memory or files for the agents");
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, 4L * options.agents);
  for (unsigned job = 1; job <= options.agents; ++job)
    for (const Kind kind : {Kind::poll, Kind::state, Kind::report}) add(mlqd, job, kind);
}

Crowd::~Crowd() {
  for (const auto& client : clients_) {
    curl_multi_remove_handle(multi_, client->easy);
    curl_easy_cleanup(client->easy);
    curl_slist_free_all(client->headers);
    curl_slist_free_all(client->address);
  }
  curl_multi_cleanup(multi_);
  close(epoll_);
}

void Crowd::add(const Mlqd& mlqd, unsigned job, Kind kind) {
  auto& client = *clients_.emplace_back(std::make_unique<Client>());
  client.kind = kind;
  client.easy = curl_easy_init();
  if (!client.easy) throw std::runtime_error("no memory for the agents");
  client.headers = curl_slist_append(nullptr, "Content-Type: application/json");
  client.headers = curl_slist_append(client.headers, mlqd.authorization(job).c_str());
  // a name of its own for each agent and rank, so that libcurl keeps a connection of its own for it
  const std::string number = std::to_string(job), port = ":" + std::to_string(mlqd.port());
  const std::string host = (kind == Kind::report ? "rank" : "agent") + number;
  client.address = curl_slist_append(nullptr, (host + port + ":127.0.0.1").c_str());
  client.stream = "rank" + number;
  const std::string path = kind == Kind::poll    ? "/v1/jobs/" + number + "?" + options_.query
                           : kind == Kind::state ? "/v1/agent"
                                                 : "/v1/reports";
  CURL* easy = client.easy;
  curl_easy_setopt(easy, CURLOPT_URL, ("http://" + host + port + path).c_str());
  curl_easy_setopt(easy, CURLOPT_RESOLVE, client.address);
  curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, -1L);  // else libcurl looks through all names each time
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, client.headers);
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 5000L);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &client.answer);
  curl_easy_setopt(easy, CURLOPT_PRIVATE, &client);
  const double every = kEvery[static_cast<std::size_t>(kind)];
  due_.push({seconds() + std::uniform_real_distribution(0.0, every)(random_), &client});
}

int Crowd::on_socket(CURL*, curl_socket_t fd, int what, void* self, void* known) {
  Crowd& crowd = *static_cast<Crowd*>(self);
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(crowd.epoll_, EPOLL_CTL_DEL, fd, nullptr);
    return 0;
  }
  epoll_event event{};
  event.data.fd = fd;
  event.events = ((what & CURL_POLL_IN) ? EPOLLIN : 0U) | ((what & CURL_POLL_OUT) ? EPOLLOUT : 0U);
  epoll_ctl(crowd.epoll_, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
  curl_multi_assign(crowd.multi_, fd, self);
  return 0;
}

int Crowd::on_timer(CURLM*, long timeout_ms, void* self) {
  static_cast<Crowd*>(self)->timer_ =
      timeout_ms < 0 ? -1 : seconds() + 1e-3 * static_cast<double>(timeout_ms);
  return 0;
}

void Crowd::begin(Client& client, double now) {
  client.answer.clear();
  client.body.clear();
  if (client.kind == Kind::state) client.body = state_body();
  if (client.kind == Kind::report) {
    client.body = report_body(client.stream, client.next_point, static_cast<int>(options_.points));
    client.next_point += options_.points;
  }
  if (client.kind != Kind::poll) {
    curl_easy_setopt(client.easy, CURLOPT_POSTFIELDS, client.body.c_str());
    curl_easy_setopt(client.easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(client.body.size()));
  }
  client.began = now;
  curl_multi_add_handle(multi_, client.easy);
}

/// The newest round that an answer holds, and those before it that this agent never saw by itself.
void Crowd::note_targets(Client& client, double now) {
  const std::size_t at = client.answer.find(kMark);
  if (at == std::string::npos) return;
  const auto round =
      static_cast<unsigned>(std::strtoul(client.answer.c_str() + at + kMark.size(), nullptr, 10));
  while (client.seen < round) figures_.seen[++client.seen].push_back(now);
}

void Crowd::finish(const CURLMsg& message) {
  Client* found = nullptr;
  long status = 0;
  const CURLcode code = message.data.result;
  CURL* easy = message.easy_handle;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &found);
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  curl_multi_remove_handle(multi_, easy);
  Client& client = *found;
  const double now = seconds(), took = now - client.began;
  if (code == CURLE_OK && status == 200) {
    auto& times = client.kind == Kind::poll    ? figures_.polls
                  : client.kind == Kind::state ? figures_.states
                                               : figures_.reports;
    times.push_back(took);
  } else if (figures_.errors++ == 0) {
    figures_.first_error =
        code != CURLE_OK ? curl_easy_strerror(code) : std::to_string(status) + " " + client.answer;
  }
  if (client.kind == Kind::poll) {
    figures_.poll_bytes += client.answer.size();
    note_targets(client, now);
    const std::size_t told = client.answer.find(kPoll);
    if (told != std::string::npos)
      client.pause = std::strtod(client.answer.c_str() + told + kPoll.size(), nullptr);
  }
  // an agent and a rank pause after the answer, a state is told by a timer
  const double from = client.kind == Kind::state ? client.began : now;
  double pause = kEvery[static_cast<std::size_t>(client.kind)];
  if (client.kind == Kind::poll) pause = client.pause * std::uniform_real_distribution(0.9, 1.1)(random_);
  due_.push({std::max(now, from + pause), &client});
}

void Crowd::collect() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left))
    if (message->msg == CURLMSG_DONE) finish(*message);
}

void Crowd::wait(double until) {
  std::array<epoll_event, 256> events{};
  const double now = seconds();
  double wake = until;
  if (!due_.empty()) wake = std::min(wake, due_.top().when);
  if (timer_ >= 0) wake = std::min(wake, timer_);
  const int pause = static_cast<int>(std::clamp(1e3 * (wake - now) + 0.5, 0.0, 1000.0));
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), pause);
  int running = 0;
  for (int i = 0; i < count; ++i) {
    const std::uint32_t found = events[static_cast<std::size_t>(i)].events;
    const int what = ((found & (EPOLLIN | EPOLLHUP)) ? CURL_CSELECT_IN : 0) |
                     ((found & EPOLLOUT) ? CURL_CSELECT_OUT : 0) |
                     ((found & EPOLLERR) ? CURL_CSELECT_ERR : 0);
    curl_multi_socket_action(multi_, events[static_cast<std::size_t>(i)].data.fd, what, &running);
  }
  if (timer_ >= 0 && seconds() >= timer_) {
    timer_ = -1;
    curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
  }
}

void Crowd::run(double until) {
  for (double now = seconds(); now < until; now = seconds()) {
    for (; !due_.empty() && due_.top().when <= now; due_.pop()) {
      figures_.lateness = std::max(figures_.lateness, now - due_.top().when);
      begin(*due_.top().client, now);
    }
    wait(until);
    collect();
  }
}

CrowdFigures Crowd::take_figures() {
  return std::exchange(figures_, CrowdFigures{});
}

}  // namespace bench
