// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/collector.hpp"

#include <curl/curl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "mlq_build.h"
#include "tools/mlq/child.hpp"
#include "tools/mlq/error.hpp"

namespace mlq::cli {
namespace {

constexpr const char* kDefaultUrl = "unix:/run/mlqd/mlqd.sock";
constexpr std::chrono::milliseconds kScontrolLimit(5000);
constexpr long kTimeoutMs = 10000;
constexpr std::size_t kAnswerMax = std::size_t{256} << 20;

std::string_view trim(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// The value of exactly this key in a comma-separated list.
std::string_view parameter(std::string_view list, std::string_view key) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    const std::string_view token = trim(list.substr(0, comma));
    if (token.starts_with(key) && token.substr(key.size()).starts_with('='))
      return token.substr(key.size() + 1);
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return {};
}

std::size_t take_answer(char* data, std::size_t size, std::size_t count, void* context) {
  auto& answer = *static_cast<std::string*>(context);
  if (answer.size() + size * count > kAnswerMax) return 0;
  answer.append(data, size * count);
  return size * count;
}

bool is_unix(const Place& place) {
  return place.url.starts_with("unix:");
}

std::string named(const Place& place) {
  return place.url + " (from " + place.origin + ")";
}

[[noreturn]] void unreachable(const Place& place, CURLcode code) {
  std::string advice;
  const std::string path = is_unix(place) ? place.url.substr(5) : "";
  if (code == CURLE_OPERATION_TIMEDOUT)
    advice = "it takes longer than 10 seconds";
  else if (!path.empty() && access(path.c_str(), F_OK) != 0)
    advice =
        "there is no such socket on this machine; run mlq where mlqd runs, or name it with "
        "--url http://HOST:6850 (mlqd with --public-status) or --url unix:/PATH";
  else if (!path.empty() && access(path.c_str(), W_OK) != 0)
    advice = "this user may not open the socket";
  else if (code == CURLE_COULDNT_CONNECT)
    advice = "nobody listens there; is mlqd running (systemctl status mlqd)? --url names another address";
  else
    advice = std::string(curl_easy_strerror(code)) + "; --url names another address";
  throw Error("mlqd does not answer at " + named(place) + ": " + advice);
}

[[noreturn]] void refused(const Place& place, long status, const std::string& answer) {
  std::string error;
  const wire::Json body = wire::parse_object(answer, error);
  const char* reason = json_string_value(json_object_get(body.get(), "error"));
  std::string text = "mlqd at " + named(place) + " refused with " + std::to_string(status);
  if (reason) text += std::string(": ") + reason;
  if (status == 401 || status == 403)
    text += "; by TCP it answers everybody only with --public-status: use its Unix socket on its own machine";
  if (status == 400 && place.cluster.empty()) text += "; -M names the cluster";
  if (status == 404) text += "; is that address an mlqd?";
  if (status == 429) text += "; try again in a moment";
  throw Error(text);
}

struct Transfer {
  CURL* handle = curl_easy_init();
  curl_slist* headers = nullptr;
  Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() {
    curl_slist_free_all(headers);
    curl_easy_cleanup(handle);
  }
};

}  // namespace

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Place parse_slurm_config(const std::string& text) {
  Place place;
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    if (const auto equals = line.find('='); equals != std::string_view::npos) {
      const std::string_view name = trim(line.substr(0, equals)), value = trim(line.substr(equals + 1));
      if (name == "ClusterName") place.cluster = value;
      if (name == "SchedulerParameters") place.url = parameter(value, "mlq_url");
    }
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return place;
}

Place find_collector(const std::string& url, const std::string& cluster) {
  const std::string job_url = environment("MLQ_URL");
  Place place{url, "--url", cluster.empty() ? environment("SLURM_CLUSTER_NAME") : cluster};
  if (place.url.empty() && job_url.starts_with("unix:")) place.url = job_url, place.origin = "$MLQ_URL";
  if (place.url.empty()) {
    if (const auto config = run_child({"scontrol", "show", "config"}, kScontrolLimit);
        config && config->status == 0) {
      const Place found = parse_slurm_config(config->output);
      place.url = found.url;
      place.origin = "mlq_url in slurm.conf";
      if (place.cluster.empty()) place.cluster = found.cluster;
    }
  }
  if (place.url.empty()) place.url = kDefaultUrl, place.origin = "the default";
  // inside a job on another machine: the address that the job reports to
  if (url.empty() && is_unix(place) && access(place.url.c_str() + 5, F_OK) != 0 && !job_url.empty())
    place.url = job_url, place.origin = "$MLQ_URL";
  if (!is_unix(place) && !place.url.starts_with("http://") && !place.url.starts_with("https://"))
    throw Error("the address of mlqd is \"" + place.url + "\" (from " + place.origin +
                "); allowed are unix:/PATH, http://HOST:PORT and https://HOST:PORT");
  while (place.url.ends_with('/')) place.url.pop_back();
  return place;
}

wire::Json ask(const Place& place, const std::string& path) {
  Transfer transfer;
  std::string answer, error;
  if (!transfer.handle) throw Error("no memory for a request");
  CURL* curl = transfer.handle;
  curl_easy_setopt(curl, CURLOPT_URL, ((is_unix(place) ? "http://localhost" : place.url) + path).c_str());
  if (is_unix(place)) curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, place.url.c_str() + 5);
  if (const std::string token = environment("MLQ_TOKEN");
      !token.empty() && place.url == environment("MLQ_URL"))
    transfer.headers = curl_slist_append(nullptr, ("Authorization: Bearer " + token).c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, transfer.headers);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "mlq/" PACKAGE_VERSION);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, kTimeoutMs);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
  if (const CURLcode code = curl_easy_perform(curl); code != CURLE_OK) unreachable(place, code);
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  wire::Json json = wire::parse_object(answer, error);
  // mlqd's own 404 says why; any other server's does not
  if (status == 404 && json && json_object_get(json.get(), "error") && path.starts_with("/v1/jobs/"))
    return nullptr;
  if (status != 200) refused(place, status, answer);
  if (!json || json_integer_value(json_object_get(json.get(), "v")) != 1)
    throw Error("the answer of " + named(place) + " is not mlqd's: " + (json ? "v is not 1" : error));
  return json;
}

std::string query(const std::string& name, const std::string& value) {
  char* escaped = curl_easy_escape(nullptr, value.c_str(), static_cast<int>(value.size()));
  std::string text = "&" + name + "=" + (escaped ? escaped : "");
  curl_free(escaped);
  return text;
}

}  // namespace mlq::cli
