// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/fake_mlqd.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include <check.h>  // last: its macro fail() hurts the C++ headers

FakeMlqd::FakeMlqd() {
  char name[] = "/tmp/mlq-test-XXXXXX";
  ck_assert_ptr_nonnull(mkdtemp(name));
  directory_ = name;
  path_ = directory_ + "/s";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path_.copy(address.sun_path, sizeof address.sun_path - 1);
  socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ck_assert_int_eq(bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ck_assert_int_eq(listen(socket_, 8), 0);
  daemon_ = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, nullptr,
                             nullptr, &FakeMlqd::answer, this, MHD_OPTION_LISTEN_SOCKET, socket_,
                             MHD_OPTION_NOTIFY_COMPLETED, &FakeMlqd::done, nullptr, MHD_OPTION_END);
  ck_assert_ptr_nonnull(daemon_);
}

FakeMlqd::~FakeMlqd() {
  MHD_stop_daemon(daemon_);
  unlink(path_.c_str());
  rmdir(directory_.c_str());
}

void FakeMlqd::set_mood(Mood mood) {
  const std::lock_guard guard(lock_);
  mood_ = mood;
}

void FakeMlqd::add(const FakePoint& point) {
  const std::lock_guard guard(lock_);
  points_.push_back(point);
}

void FakeMlqd::set_epoch(const std::string& epoch) {
  const std::lock_guard guard(lock_);
  epoch_ = epoch;
  points_.clear();
}

void FakeMlqd::set_families(const std::string& json) {
  const std::lock_guard guard(lock_);
  families_ = json;
}

void FakeMlqd::set_jobs(const std::string& json) {
  const std::lock_guard guard(lock_);
  jobs_ = json;
}

void FakeMlqd::set_agents(const std::string& json) {
  const std::lock_guard guard(lock_);
  agents_ = json;
}

unsigned FakeMlqd::requests() {
  const std::lock_guard guard(lock_);
  return requests_;
}

std::vector<std::string> FakeMlqd::take_cycles() {
  const std::lock_guard guard(lock_);
  return std::exchange(cycles_, {});
}

std::string FakeMlqd::points_after(std::uint64_t after, std::size_t most) const {
  std::string rows;
  std::size_t at = after, sent = 0;
  for (; at < points_.size() && sent < most; at++, sent++) {
    const FakePoint& p = points_[at];
    char row[256];
    char loss[64] = "null";
    if (std::isfinite(p.loss)) std::snprintf(loss, sizeof loss, "%.17g", p.loss);
    std::snprintf(row, sizeof row, "%s[%zu,%u,%lld,%.17g,%s,%.17g,null]", sent ? "," : "", at + 1, p.job_id,
                  static_cast<long long>(p.submit), p.iteration, loss, p.time);
    rows += row;
  }
  return R"({"v":1,"next":)" + std::to_string(std::max<std::size_t>(at, after)) + R"(,"more":)" +
         (at < points_.size() ? "true" : "false") + R"(,"epoch":")" + epoch_ + R"(","points":[)" + rows +
         R"(],"agents":)" + agents_ + "}";
}

std::string FakeMlqd::reply_to(const std::string& url, MHD_Connection* connection) {
  if (url == "/v1/points") {
    const char* after = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "after");
    const char* most = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "max");
    return points_after(std::strtoull(after, nullptr, 10), std::strtoull(most, nullptr, 10));
  }
  if (url == "/v1/families") return R"({"v":1,"families":)" + families_ + "}";
  if (url == "/v1/jobs") return R"({"v":1,"jobs":)" + jobs_ + "}";
  return "{}";
}

MHD_Result FakeMlqd::answer(void* self, MHD_Connection* connection, const char* url, const char* method,
                            const char*, const char* upload, std::size_t* upload_size, void** request) {
  auto* fake = static_cast<FakeMlqd*>(self);
  if (*request == nullptr) {
    *request = new std::string;
    return MHD_YES;
  }
  auto* body = static_cast<std::string*>(*request);
  if (*upload_size > 0) {
    body->append(upload, *upload_size);
    *upload_size = 0;
    return MHD_YES;
  }
  std::string text;
  unsigned status = MHD_HTTP_OK;
  std::unique_lock guard(fake->lock_);
  fake->requests_++;
  switch (fake->mood_) {
    case Mood::well:
      if (std::strcmp(method, "POST") == 0) fake->cycles_.push_back(*body);
      text = fake->reply_to(url, connection);
      break;
    case Mood::hangs:
      guard.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds(1500));
      break;
    case Mood::garbage:
      text = "{\"v\":1,\"points\":[[[";
      break;
    case Mood::refuses:
      status = MHD_HTTP_UNAUTHORIZED;
      text = "{\"error\":\"no\"}";
      break;
    case Mood::floods:
      text.assign(20u << 20, ' ');
      break;
  }
  MHD_Response* response = MHD_create_response_from_buffer(text.size(), text.data(), MHD_RESPMEM_MUST_COPY);
  const MHD_Result result = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return result;
}

void FakeMlqd::done(void*, MHD_Connection*, void** request, MHD_RequestTerminationCode) {
  delete static_cast<std::string*>(*request);
  *request = nullptr;
}
