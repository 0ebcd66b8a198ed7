// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/bench/mlqd_process.hpp"

#include <curl/curl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <thread>

#include "core/token/job_token.h"

namespace bench {
namespace {

using Easy = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using Headers = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

std::size_t discard(char*, std::size_t size, std::size_t count, void*) {
  return size * count;
}

unsigned free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* name = reinterpret_cast<sockaddr*>(&address);
  const bool found = bind(probe, name, size) == 0 && getsockname(probe, name, &size) == 0;
  close(probe);
  if (!found) throw std::runtime_error("no free port on loopback");
  return ntohs(address.sin_port);
}

[[noreturn]] void run(const std::string& folder, unsigned port, bool limits) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // a benchmark that is killed leaves none behind
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  sched_setaffinity(0, sizeof one, &one);
  if (!std::freopen((folder + "/log").c_str(), "w", stderr)) _exit(127);
  const char* program = std::getenv("MLQD");
  std::vector<std::string> words = {
      "mlqd",           "--key",        folder + "/key",
      "--store",        folder + "/db", "--socket",
      folder + "/sock", "--listen",     port ? "127.0.0.1:" + std::to_string(port) : "off"};
  if (!limits)
    words.insert(words.end(),
                 {"--rate", "1e9", "--burst", "1e9", "--request-rate", "1e9", "--request-burst", "1e9"});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(program ? program : "./mlqd", arguments.data());
  std::perror("mlqd (make mlqd, or name it with MLQD)");
  _exit(127);
}

}  // namespace

Folder::Folder() {
  char name[] = "bench-mlqd-XXXXXX";
  if (!mkdtemp(name)) throw std::runtime_error("no folder for the benchmark");
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string report_body(const std::string& stream, long first, int points) {
  std::string text = R"({"v":1,"stream":")" + stream + R"(","points":[)";
  char point[160];
  for (long n = first; n < first + points; ++n) {
    std::snprintf(point, sizeof point, R"(%s{"n":%ld,"i":%ld,"l":%.6g,"t":%.3f,"c":4})",
                  n == first ? "" : ",", n, n * 10, 2.0 / (1 + static_cast<double>(n)),
                  1.79e9 + static_cast<double>(n) * 0.01);
    text += point;
  }
  return text + "]}";
}

Mlqd::Mlqd(const MlqdOptions& options) : port_(options.tcp ? free_port() : 0) {
  curl_global_init(CURL_GLOBAL_DEFAULT);
  char error[MLQ_TOKEN_ERROR_MAX];
  if (mlq_key_create((folder_.path() + "/key").c_str(), error, sizeof error) != 0)
    throw std::runtime_error(error);
  pid_ = fork();
  if (pid_ == 0) run(folder_.path(), port_, options.limits);
  for (int i = 0; i < 1000; ++i) {
    if (alive()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::ifstream log(folder_.path() + "/log");
  throw std::runtime_error("mlqd does not come up: " + std::string(std::istreambuf_iterator<char>(log), {}));
}

Mlqd::~Mlqd() {
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
}

bool Mlqd::alive() const {
  const Easy easy(curl_easy_init(), curl_easy_cleanup);
  curl_easy_setopt(easy.get(), CURLOPT_UNIX_SOCKET_PATH, socket().c_str());
  curl_easy_setopt(easy.get(), CURLOPT_URL, "http://mlqd/v1/health");
  curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, discard);
  return curl_easy_perform(easy.get()) == CURLE_OK;
}

std::string Mlqd::socket() const {
  return std::filesystem::absolute(folder_.path()).string() + "/sock";
}

double Mlqd::cpu_seconds() const {
  clockid_t clock = 0;
  timespec time{};
  if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double Mlqd::memory_mib() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/statm");
  double total = 0, resident = 0;
  status >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

std::string Mlqd::authorization(unsigned job) const {
  const auto now = static_cast<std::int64_t>(std::time(nullptr));
  const mlq_claims_t claims{MLQ_ROLE_JOB, "bench", job, 1000, 0, now, now + 3600};
  mlq_key_t key;
  char token[MLQ_TOKEN_MAX] = "";
  if (mlq_key_load((folder_.path() + "/key").c_str(), &key, nullptr, 0) == 0)
    mlq_token_mint(&claims, &key, token, sizeof token, nullptr, 0);
  return std::string("Authorization: Bearer ") + token;
}

bool Mlqd::send(unsigned job, const std::vector<std::string>& bodies) const {
  const Easy easy(curl_easy_init(), curl_easy_cleanup);
  const std::string authorize = authorization(job);
  curl_slist* list = curl_slist_append(nullptr, authorize.c_str());
  const Headers headers(curl_slist_append(list, "Expect:"), curl_slist_free_all);
  curl_easy_setopt(easy.get(), CURLOPT_UNIX_SOCKET_PATH, socket().c_str());
  curl_easy_setopt(easy.get(), CURLOPT_URL, "http://mlqd/v1/reports");
  curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, discard);
  for (const std::string& body : bodies) {
    long status = 0;
    curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDS, body.c_str());
    curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
    if (curl_easy_perform(easy.get()) != CURLE_OK) return false;
    curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) return false;
  }
  return true;
}

}  // namespace bench
