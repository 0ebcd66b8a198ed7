// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm-plugin/engine/mlqd_client.hpp"

#include "core/token/job_token.h"

namespace mlq::engine {
namespace {

constexpr std::int64_t token_life_s = 3600;
constexpr double say_again_s = 300;

}  // namespace

void MlqdClient::configure(const mlq_config_t& config) {
  timeout_ = std::chrono::milliseconds(config.timeout_ms);
  if (url_ != config.url || key_file_ != config.key_file) {
    url_ = config.url;
    key_file_ = config.key_file;
    token_.clear();
    said_.clear();
  }
  http_.set_url(url_);
}

std::chrono::milliseconds MlqdClient::left() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - std::chrono::steady_clock::now());
}

const std::string& MlqdClient::token(double now) {
  if (key_file_.empty() || url_.starts_with("unix:")) {
    token_.clear();
    return token_;
  }
  if (!token_.empty() && now < token_renewal_ && now > token_renewal_ - token_life_s) return token_;
  token_.clear();
  mlq_key_t key{};
  mlq_claims_t claims{};
  char text[MLQ_TOKEN_MAX];
  char error[MLQ_TOKEN_ERROR_MAX] = "";
  claims.role = MLQ_ROLE_SCHEDULER;
  cluster_.copy(claims.cluster, sizeof claims.cluster - 1);
  claims.issued = static_cast<std::int64_t>(now);
  claims.expires = claims.issued + token_life_s;
  const bool minted = mlq_key_load(key_file_.c_str(), &key, error, sizeof error) == 0 &&
                      mlq_token_mint(&claims, &key, text, sizeof text, error, sizeof error) == 0;
  mlq_key_wipe(&key);
  if (minted) {
    token_ = text;
    token_renewal_ = now + token_life_s / 2.0;
  } else if (now - said_at_ > say_again_s || said_ != error) {
    log_.line(MLQ_LOG_ERROR, "mlq_key: %s", error);
    said_ = error;
    said_at_ = now;
  }
  return token_;
}

/// Says once when mlqd goes and once when it is back, and why, not every cycle.
bool MlqdClient::answered(bool well, const std::string& why, double now) {
  if (well) {
    if (away_) log_.line(MLQ_LOG_INFO, "mlqd at %s answers again", url_.c_str());
    away_ = false;
  } else if (!away_ || said_ != why || now - said_at_ > say_again_s) {
    log_.line(MLQ_LOG_ERROR, "mlqd at %s: %s", url_.c_str(), why.c_str());
    away_ = true;
    said_ = why;
    said_at_ = now;
  }
  return well;
}

bool MlqdClient::send(const std::string& target, const std::string* json, double now, std::string& body) {
  Reply reply = http_.request(target, token(now), json, left());
  if (reply.ok()) {
    body = std::move(reply.body);
    return true;
  }
  const std::string why = reply.status == 0
                              ? reply.error
                              : "status " + std::to_string(reply.status) + " to " +
                                    target.substr(0, target.find('?')) + ": " + reply.body.substr(0, 300);
  return answered(false, why, now);
}

bool MlqdClient::points(std::uint64_t after, double now, PointsPage& out) {
  std::string body, error;
  const std::string target = "/v1/points?cluster=" + http_.escape(cluster_) +
                             "&after=" + std::to_string(after) + "&max=" + std::to_string(page_points);
  if (!send(target, nullptr, now, body)) return false;
  const bool well = parse_points(body, after, out, error);
  if (well && out.malformed > 0) {
    log_.line(MLQ_LOG_DEBUG, "mlqd sent %zu malformed points, left out", out.malformed);
  }
  return answered(well, error, now);
}

bool MlqdClient::families(double now, std::vector<FamilyRecord>& out) {
  std::string body, error;
  if (!send("/v1/families?cluster=" + http_.escape(cluster_), nullptr, now, body)) return false;
  return answered(parse_families(body, out, error), error, now);
}

bool MlqdClient::open_jobs(double now, std::vector<OpenJob>& out) {
  std::string body, error;
  if (!send("/v1/jobs?cluster=" + http_.escape(cluster_), nullptr, now, body)) return false;
  return answered(parse_jobs(body, out, error), error, now);
}

bool MlqdClient::cycle(const std::string& json, double now) {
  std::string body;
  return send("/v1/cycle", &json, now, body);
}

}  // namespace mlq::engine
