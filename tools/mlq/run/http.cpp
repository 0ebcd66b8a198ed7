// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/http.hpp"

#include <poll.h>

#include <algorithm>
#include <cstdlib>

#include "mlq_build.h"
#include "tools/mlq/error.hpp"

namespace mlq::run {
namespace {

constexpr std::size_t kAnswerMax = std::size_t{1} << 20;

std::size_t take_answer(char* data, std::size_t size, std::size_t count, void* context) {
  std::string& answer = *static_cast<std::string*>(context);
  if (answer.size() + size * count > kAnswerMax) return 0;
  answer.append(data, size * count);
  return size * count;
}

}  // namespace

struct Http::Transfer {
  std::string request, answer;
  Done done;
};

Http::Http(Loop& loop, std::string url, const std::string& token)
    : loop_(loop), url_(std::move(url)), multi_(curl_multi_init()) {
  if (!multi_) throw cli::Error("no memory for requests to mlqd");
  while (url_.ends_with('/')) url_.pop_back();
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  headers_ = curl_slist_append(nullptr, "Content-Type: application/json");
  if (!token.empty()) headers_ = curl_slist_append(headers_, ("Authorization: Bearer " + token).c_str());
}

Http::~Http() {
  for (auto& [easy, transfer] : transfers_) {
    curl_multi_remove_handle(multi_, easy);
    curl_easy_cleanup(easy);
  }
  curl_multi_cleanup(multi_);
  curl_slist_free_all(headers_);
  loop_.cancel(timer_);
}

int Http::on_socket(CURL*, curl_socket_t fd, int what, void* self, void*) {
  Http& http = *static_cast<Http*>(self);
  if (what == CURL_POLL_REMOVE) {
    http.loop_.unwatch(fd);
    return 0;
  }
  const int events = ((what & CURL_POLL_IN) ? POLLIN : 0) | ((what & CURL_POLL_OUT) ? POLLOUT : 0);
  http.loop_.watch(fd, static_cast<short>(events), [&http, fd](short found) {
    const int in = (found & (POLLIN | POLLHUP)) ? CURL_CSELECT_IN : 0;
    const int out = (found & POLLOUT) ? CURL_CSELECT_OUT : 0;
    http.act(fd, in | out | ((found & POLLERR) ? CURL_CSELECT_ERR : 0));
  });
  return 0;
}

int Http::on_timer(CURLM*, long timeout_ms, void* self) {
  Http& http = *static_cast<Http*>(self);
  http.loop_.cancel(http.timer_);
  if (timeout_ms >= 0)
    http.timer_ = http.loop_.after(std::chrono::milliseconds(timeout_ms), [&http] {
      http.timer_ = 0;
      http.act(CURL_SOCKET_TIMEOUT, 0);
    });
  return 0;
}

void Http::act(curl_socket_t fd, int events) {
  int running = 0;
  curl_multi_socket_action(multi_, fd, events, &running);
  loop_.defer([this] { collect(); });
}

void Http::collect() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* easy = message->easy_handle;
    const CURLcode code = message->data.result;
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    const auto transfer = std::move(transfers_[easy]);
    transfers_.erase(easy);
    curl_multi_remove_handle(multi_, easy);
    curl_easy_cleanup(easy);
    if (code == CURLE_OK)
      transfer->done(status, transfer->answer);
    else
      transfer->done(0, curl_easy_strerror(code));
  }
}

void Http::ask(const std::string& path, const std::string& body, Seconds limit, Done done) {
  CURL* easy = curl_easy_init();
  if (!easy) return;
  auto& transfer = transfers_[easy] = std::make_unique<Transfer>();
  transfer->request = body;
  transfer->done = std::move(done);
  const bool local = url_.starts_with("unix:");
  curl_easy_setopt(easy, CURLOPT_URL, ((local ? "http://localhost" : url_) + path).c_str());
  if (local) curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, url_.c_str() + 5);
  if (const char* file = std::getenv("MLQ_CA_FILE")) curl_easy_setopt(easy, CURLOPT_CAINFO, file);
  if (!body.empty()) curl_easy_setopt(easy, CURLOPT_POSTFIELDS, transfer->request.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers_);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "mlq-run/" PACKAGE_VERSION);
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(limit.count() * 1000));
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_answer);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer->answer);
  curl_multi_add_handle(multi_, easy);
}

}  // namespace mlq::run
