// SPDX-License-Identifier: GPL-2.0-or-later
// A daemon without sockets: its service, a store of its own, and short ways to ask.
#pragma once

#include <condition_variable>
#include <mutex>

#include "tests/unit/mlqd_fixture.hpp"
#include "tools/mlqd/service.hpp"

namespace mlq::mlqd::test {

inline constexpr std::uint32_t kAdmin = 77;

class World {
 public:
  explicit World(ServiceOptions options = {})
      : keys_({key_file()}),
        store_(folder_.file("s")),
        reader_(folder_.file("s"), 2),
        writer_(store_, {}, 100),
        service_(with_admin(std::move(options)), keys_, reader_, writer_, metrics_) {
    std::string error;
    ck_assert_msg(keys_.load(error), "%s", error.c_str());
  }

  std::string token(mlq_role_t role = MLQ_ROLE_JOB, const char* cluster = "c", std::uint32_t job_id = 7) {
    mlq_claims_t claims{role, {}, job_id, 1000, 0, kNow - 5, kNow + 100};
    strncpy(claims.cluster, cluster, sizeof claims.cluster - 1);
    mlq_key_t key;
    char text[MLQ_TOKEN_MAX];
    ck_assert_int_eq(mlq_key_load(key_file().c_str(), &key, nullptr, 0), 0);
    ck_assert_int_eq(mlq_token_mint(&claims, &key, text, sizeof text, nullptr, 0), 0);
    return std::string("Bearer ") + text;
  }

  Response ask(Request request, double monotonic = 0, std::int64_t now_s = kNow) {
    if (auto refused = service_.begin(request, static_cast<double>(now_s), monotonic)) return *refused;
    std::optional<Response> late;
    std::mutex mutex;
    std::condition_variable ready;
    auto now = service_.handle(
        request, static_cast<double>(now_s), monotonic, [] {},
        [&](Response response) {
          const std::lock_guard lock(mutex);
          late = std::move(response);
          ready.notify_one();
        });
    if (now) return *now;
    std::unique_lock lock(mutex);
    ready.wait(lock, [&] { return late.has_value(); });
    return *late;
  }

  Service& service() { return service_; }
  Writer& writer() { return writer_; }

 private:
  std::string key_file() {
    const std::string path = folder_.file("key");
    if (!std::filesystem::exists(path)) ck_assert_int_eq(mlq_key_create(path.c_str(), nullptr, 0), 0);
    return path;
  }
  static ServiceOptions with_admin(ServiceOptions options) {
    options.admin_uids = {0, kAdmin};
    return options;
  }

  Folder folder_;
  Keys keys_;
  Store store_;
  Reader reader_;
  Writer writer_;
  Metrics metrics_;
  Service service_;
};

inline Request by_tcp(const char* method, const char* path, const std::string& authorization = "",
                      std::string body = "") {
  Request request;
  request.method = method;
  request.path = path;
  if (!authorization.empty()) request.authorization = authorization;
  request.peer.address = "192.0.2.1";
  request.body = std::move(body);
  return request;
}

inline Request by_socket(const char* method, const char* path, std::uint32_t uid, std::string body = "") {
  Request request = by_tcp(method, path, "", std::move(body));
  request.peer = {true, uid, ""};
  return request;
}

inline std::string losses(int from, int to) {
  std::string text = R"({"v":1,"stream":"s","points":[)";
  for (int n = from; n <= to; ++n)
    text += (n == from ? "" : ",") + std::string(R"({"n":)") + std::to_string(n) + R"(,"i":1,"l":0.5,"t":1})";
  return text + "]}";
}

}  // namespace mlq::mlqd::test
