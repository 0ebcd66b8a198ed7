// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/bench/agent_crowd.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace bench {
namespace {

constexpr std::array<double, 3> kEvery = {1, 10, 1};  // seconds, by Crowd::Kind
constexpr unsigned kGroup = 32;                       // agents
constexpr int kTurn = 16;                             // requests begun before answers are looked for
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
  CURLM* multi = nullptr;
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
    : options_(options), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0) throw std::runtime_error("no memory or files for the agents");
  for (unsigned job = 1; job <= options.agents; ++job) {
    if (job % kGroup == 1) add_group();
    for (const Kind kind : {Kind::poll, Kind::state, Kind::report}) add(mlqd, job, kind);
  }
}

void Crowd::add_group() {
  auto& group =
      *groups_.emplace_back(std::make_unique<Group>(Group{this, groups_.size(), curl_multi_init()}));
  if (!group.multi) throw std::runtime_error("no memory for the agents");
  curl_multi_setopt(group.multi, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(group.multi, CURLMOPT_SOCKETDATA, &group);
  curl_multi_setopt(group.multi, CURLMOPT_TIMERFUNCTION, on_timer);
  curl_multi_setopt(group.multi, CURLMOPT_TIMERDATA, &group);
  curl_multi_setopt(group.multi, CURLMOPT_MAXCONNECTS, long{4} * kGroup);
}

Crowd::~Crowd() {
  for (const auto& client : clients_) {
    curl_multi_remove_handle(client->multi, client->easy);
    curl_easy_cleanup(client->easy);
    curl_slist_free_all(client->headers);
    curl_slist_free_all(client->address);
  }
  for (const auto& group : groups_) curl_multi_cleanup(group->multi);
  close(epoll_);
}

void Crowd::add(const Mlqd& mlqd, unsigned job, Kind kind) {
  auto& client = *clients_.emplace_back(std::make_unique<Client>());
  client.kind = kind;
  client.multi = groups_.back()->multi;
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

int Crowd::on_socket(CURL*, curl_socket_t fd, int what, void* of, void* known) {
  Group& group = *static_cast<Group*>(of);
  const int epoll = group.crowd->epoll_;
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(epoll, EPOLL_CTL_DEL, fd, nullptr);
    return 0;
  }
  epoll_event event{};
  event.data.u64 = (group.number << 32) | static_cast<std::uint32_t>(fd);
  event.events = ((what & CURL_POLL_IN) ? EPOLLIN : 0U) | ((what & CURL_POLL_OUT) ? EPOLLOUT : 0U);
  epoll_ctl(epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
  curl_multi_assign(group.multi, fd, of);
  return 0;
}

int Crowd::on_timer(CURLM*, long timeout_ms, void* of) {
  static_cast<Group*>(of)->timer = timeout_ms < 0 ? -1 : seconds() + 1e-3 * static_cast<double>(timeout_ms);
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
  curl_multi_add_handle(client.multi, client.easy);
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
  Client& client = *found;
  curl_multi_remove_handle(client.multi, easy);
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

void Crowd::act(Group& group, curl_socket_t fd, int what) {
  int left = 0;
  curl_multi_socket_action(group.multi, fd, what, &left);
  while (const CURLMsg* message = curl_multi_info_read(group.multi, &left))
    if (message->msg == CURLMSG_DONE) finish(*message);
}

void Crowd::wait(double until) {
  std::array<epoll_event, 256> events{};
  double wake = due_.empty() ? until : std::min(until, due_.top().when);
  for (const auto& group : groups_)
    if (group->timer >= 0) wake = std::min(wake, group->timer);
  const int pause = static_cast<int>(std::clamp(std::ceil(1e3 * (wake - seconds())), 0.0, 1000.0));
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), pause);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const int what = ((event.events & (EPOLLIN | EPOLLHUP)) ? CURL_CSELECT_IN : 0) |
                     ((event.events & EPOLLOUT) ? CURL_CSELECT_OUT : 0) |
                     ((event.events & EPOLLERR) ? CURL_CSELECT_ERR : 0);
    act(*groups_[event.data.u64 >> 32], static_cast<curl_socket_t>(event.data.u64 & 0xffffffff), what);
  }
  const double now = seconds();
  for (const auto& group : groups_) {
    if (group->timer < 0 || group->timer > now) continue;
    group->timer = -1;
    act(*group, CURL_SOCKET_TIMEOUT, 0);
  }
}

void Crowd::run(double until) {
  for (double now = seconds(); now < until; now = seconds()) {
    for (int i = 0; i < kTurn && !due_.empty() && due_.top().when <= now; ++i) {
      const Due due = due_.top();
      due_.pop();
      figures_.lateness = std::max(figures_.lateness, now - due.when);
      begin(*due.client, seconds());
    }
    wait(until);
  }
}

CrowdFigures Crowd::take_figures() {
  return std::exchange(figures_, CrowdFigures{});
}

}  // namespace bench
