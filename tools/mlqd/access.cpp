// SPDX-License-Identifier: GPL-2.0-or-later
// Everything about a request but its body: which route, who asks, may he, is he too fast.
#include <strings.h>

#include <algorithm>
#include <array>

#include "tools/mlqd/service.hpp"

namespace mlq::mlqd {

namespace {

constexpr double kClockPause = 60;  // seconds until a job whose token is of the future asks again

struct RouteRow {
  const char* path;
  const char* method;
  Route route;
};
constexpr std::array<RouteRow, 10> kRoutes = {{{"/v1/reports", "POST", Route::reports},
                                               {"/v1/agent", "POST", Route::agent},
                                               {"/v1/speeds", "POST", Route::add_speeds},
                                               {"/v1/speeds", "GET", Route::speeds},
                                               {"/v1/points", "GET", Route::points},
                                               {"/v1/cycle", "POST", Route::cycle},
                                               {"/v1/families", "GET", Route::families},
                                               {"/v1/jobs", "GET", Route::jobs},
                                               {"/v1/health", "GET", Route::health},
                                               {"/metrics", "GET", Route::metrics}}};

/// Fills route and job_id; the method that is allowed, nullptr when there is no such path.
const char* find_route(Request& request) {
  const char* allowed = nullptr;
  for (const RouteRow& row : kRoutes) {
    if (request.path != row.path) continue;
    request.route = row.route;
    allowed = row.method;
    if (request.method == allowed) break;
  }
  if (allowed) return allowed;
  constexpr std::string_view kJob = "/v1/jobs/";
  if (!request.path.starts_with(kJob)) return nullptr;
  request.route = Route::job;
  return parse_number<std::uint32_t>(std::string_view(request.path).substr(kJob.size()), 1, UINT32_MAX,
                                     request.job_id)
             ? "GET"
             : nullptr;
}

std::optional<std::string> bearer(const std::string& authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  if (strncasecmp(authorization.c_str(), kScheme.data(), kScheme.size()) != 0) return std::nullopt;
  const std::size_t start = authorization.find_first_not_of(' ', kScheme.size());
  return start == std::string::npos ? "" : authorization.substr(start);
}

/// Jobs of two clusters may have the same id, and a bad job must not slow down its successor of the same id
/// for long.
std::string job_name(const mlq_claims_t& claims) {
  return std::string("job ") + claims.cluster + " " + std::to_string(claims.job_id);
}

}  // namespace

std::optional<Response> Service::begin(Request& request, double now, double monotonic) {
  const char* method = find_route(request);
  if (!method)
    return error_response(
        404, "no such path; /v1/reports, /v1/jobs, /v1/health and the others of mlqd(8) are known");
  if (request.method != method) {
    Response refused = error_response(405, "the method is not allowed here, " + std::string(method) + " is");
    refused.allow = method;
    return refused;
  }
  if (request.route == Route::reports) request.body_limit = options_.report_limit;
  if (request.route == Route::agent) request.body_limit = options_.agent_limit;
  if (request.route == Route::add_speeds) request.body_limit = options_.speeds_limit;
  if (request.route == Route::cycle) request.body_limit = options_.cycle_limit;
  if (auto refused = authenticate(request, now)) return refused;
  if (auto refused = authorize(request)) return refused;
  return limit_rate(request, monotonic);
}

std::optional<Response> Service::authenticate(Request& request, double now) {
  if (!request.authorization) return std::nullopt;
  const auto token = bearer(*request.authorization);
  if (!token) return error_response(401, "Authorization is not of the form \"Bearer TOKEN\"");
  mlq_claims_t claims;
  std::string error;
  const auto result = keys_.verify(*token, static_cast<std::int64_t>(now), claims, error);
  if (result ==
      MLQ_TOKEN_EARLY) {  // with 401 a job would give up for good because a clock was wrong for a moment
    Response later = error_response(503, error);
    later.retry_after = kClockPause;
    return later;
  }
  if (result != MLQ_TOKEN_OK) return error_response(401, error);
  if (!options_.clusters.empty() && !options_.clusters.contains(claims.cluster))
    return error_response(
        403, std::string("token is of cluster ") + claims.cluster + ", which is not served here");
  request.claims = claims;
  return std::nullopt;
}

bool Service::is_scheduler(const Request& request) const {
  return request.claims ? request.claims->role == MLQ_ROLE_SCHEDULER : trusted(request.peer);
}

std::optional<Response> Service::authorize(const Request& request) const {
  switch (request.route) {
    case Route::reports:
      if (!request.claims) return error_response(401, "a job's token is needed: Authorization: Bearer TOKEN");
      if (request.claims->role != MLQ_ROLE_JOB) return error_response(403, "only jobs report losses");
      return std::nullopt;
    case Route::agent:
      if (!request.claims) return error_response(401, "a job's token is needed: Authorization: Bearer TOKEN");
      if (request.claims->role != MLQ_ROLE_JOB)
        return error_response(403, "only the agent of a job says how it stands");
      return std::nullopt;
    case Route::add_speeds:
    case Route::speeds:
      if (!request.claims) return error_response(401, "a job's token is needed: Authorization: Bearer TOKEN");
      if (request.claims->role != MLQ_ROLE_JOB)
        return error_response(403, "speeds are a user's: only jobs report them and ask for them");
      return std::nullopt;
    case Route::points:
    case Route::cycle:
    case Route::families:
      return authorize_scheduler(request);
    case Route::jobs:
    case Route::job:
      return authorize_status(request);
    case Route::health:
    case Route::metrics:
      return std::nullopt;
  }
  return error_response(404, "no such path");
}

std::optional<Response> Service::authorize_scheduler(const Request& request) const {
  if (is_scheduler(request)) return std::nullopt;
  if (request.claims) return error_response(403, "a job's token was given, a scheduler's is needed");
  if (request.peer.local)
    return error_response(
        403, "uid " + std::to_string(request.peer.uid) +
                 " was given by the kernel, root, mlqd's own user or one of --admin-user is needed");
  return error_response(401, "a scheduler's token is needed: Authorization: Bearer TOKEN");
}

std::optional<Response> Service::authorize_status(const Request& request) const {
  if (request.peer.local || options_.public_status || is_scheduler(request)) return std::nullopt;
  if (!request.claims)
    return error_response(401, "a token is needed here: mlqd does not run with --public-status");
  if (request.route == Route::job && request.claims->job_id == request.job_id &&
      (request.argument("cluster").empty() || request.argument("cluster") == request.claims->cluster))
    return std::nullopt;
  return error_response(403, "the token is of job " + std::to_string(request.claims->job_id) +
                                 ", which may only read /v1/jobs/" + std::to_string(request.claims->job_id));
}

std::optional<Response> Service::limit_rate(Request& request, double monotonic) {
  if (is_scheduler(request)) return std::nullopt;
  if (request.claims) {
    request.limited_as = job_name(*request.claims);
  } else {
    request.limited_as =
        request.peer.local ? "uid " + std::to_string(request.peer.uid) : "address " + request.peer.address;
  }
  double wait = requests_limiter_.wait(request.limited_as, monotonic);
  if (request.route == Route::reports)
    wait = std::max(wait, points_limiter_.wait(request.limited_as, monotonic));
  if (wait > 0) return too_fast(request, wait);
  requests_limiter_.spend(request.limited_as, 1, monotonic);
  return std::nullopt;
}

Response Service::too_fast(const Request& request, double wait) const {
  Response refused = error_response(
      429, request.limited_as + " is too fast: " + std::to_string(static_cast<long>(options_.points_rate)) +
               " losses and " + std::to_string(static_cast<long>(options_.requests_rate)) +
               " requests a second are allowed");
  refused.retry_after = wait;
  return refused;
}

}  // namespace mlq::mlqd
