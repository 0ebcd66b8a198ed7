// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlqd/service.hpp"

#include <algorithm>

#include "core/wire/wire.hpp"

namespace mlq::mlqd {

Response error_response(unsigned status, const std::string& message) {
  const wire::Json body(json_pack("{s:s%}", "error", message.c_str(), message.size()));
  // a message may hold bytes that are no UTF-8, from an address or an argument
  return {status,
          body ? wire::to_text(body.get()) : R"({"error": "the request holds text that is not UTF-8"})"};
}

namespace {

/// An optional whole number; false, with an answer, when it is given and wrong.
template <typename Integer>
bool number_argument(const Request& request, const char* name, Integer low, Integer high, Integer& value,
                     Response& refused) {
  const std::string text = request.argument(name);
  if (text.empty() || parse_number(std::string_view(text), low, high, value)) return true;
  refused =
      error_response(400, std::string(name) + " is \"" + text.substr(0, 40) + "\", a whole number from " +
                              std::to_string(low) + " to " + std::to_string(high) + " is needed");
  return false;
}

Response unknown_job(const Request& request, const std::string& cluster) {
  return error_response(404,
                        "job " + std::to_string(request.job_id) + " of cluster " + cluster + " is not known");
}

Response json_response(const wire::Json& value) {
  std::string text = value ? wire::to_text(value.get()) : "";
  return text.empty() ? error_response(500, "out of memory") : Response{200, std::move(text)};
}

}  // namespace

Service::Service(ServiceOptions options, const Keys& keys, Reader& reader, Writer& writer, Metrics& metrics)
    : options_(std::move(options)),
      keys_(keys),
      reader_(reader),
      writer_(writer),
      metrics_(metrics),
      points_limiter_(options_.points_rate, options_.points_burst),
      requests_limiter_(options_.requests_rate, options_.requests_burst) {
  writer_.targets().limit(options_.polls_rate);
}

std::optional<Response> Service::handle(Request& request, double now, double monotonic,
                                        const std::function<void()>& pause, Reply reply) {
  try {
    switch (request.route) {
      case Route::reports:
        return report(request, now, monotonic, pause, std::move(reply));
      case Route::add_speeds:
        return add_speeds(request, pause, std::move(reply));
      case Route::speeds:
        return speeds(request, now);
      case Route::agent:
        return agent(request, now, pause, std::move(reply));
      case Route::cycle:
        return cycle(request, pause, std::move(reply));
      case Route::points:
        return points(request, now);
      case Route::families:
        return families(request);
      case Route::jobs:
        return jobs(request, now, monotonic);
      case Route::job:
        return job(request, now, monotonic);
      case Route::health:
        return health();
      case Route::metrics:
        return metrics(monotonic);
    }
  } catch (const SqliteError& error) {
    Response busy = error_response(503, std::string("the store is busy: ") + error.what());
    busy.retry_after = 1;
    return busy;
  }
  return error_response(404, "no such path");
}

namespace {

Reporter reporter_of(const mlq_claims_t& claims) {
  return {claims.cluster, claims.job_id, claims.uid, claims.restarts, claims.issued};
}

Response busy_response() {
  Response busy = error_response(503, "the store does not take data now");
  busy.retry_after = 1;
  return busy;
}

}  // namespace

std::optional<Response> Service::submit(WriteTask task, const std::function<void()>& pause) {
  pause();
  auto done = task.done;
  if (!writer_.submit(std::move(task))) done({});  // paused: the answer must come by the same way
  return std::nullopt;
}

std::optional<Response> Service::report(Request& request, double now, double monotonic,
                                        const std::function<void()>& pause, Reply reply) {
  // many requests may have begun before the first of them was counted
  if (const double wait = points_limiter_.wait(request.limited_as, monotonic); wait > 0)
    return too_fast(request, wait);
  std::string error;
  auto report = wire::parse_report(request.body, error);
  if (!report) return error_response(400, error);
  wire::limit_times(*report, now);
  points_limiter_.spend(request.limited_as, static_cast<double>(report->points.size()), monotonic);
  ReportWrite write{reporter_of(*request.claims), std::move(*report)};
  return submit({std::move(write),
                 [reply = std::move(reply)](const WriteResult& result) {
                   if (!result.ok) return reply(busy_response());
                   reply(json_response(wire::Json(
                       json_pack("{s:I, s:I}", "stored", static_cast<json_int_t>(result.stored.stored),
                                 "dropped", static_cast<json_int_t>(result.stored.dropped)))));
                 }},
                pause);
}

std::optional<Response> Service::agent(Request& request, double now, const std::function<void()>& pause,
                                       Reply reply) {
  std::string error;
  auto state = wire::parse_agent(request.body, error);
  if (!state) return error_response(400, error);
  const mlq_claims_t& claims = *request.claims;
  if (state->job_id != 0 && state->job_id != claims.job_id)
    return error_response(403, "job_id is " + std::to_string(state->job_id) + ", the token is of job " +
                                   std::to_string(claims.job_id));
  AgentWrite write{reporter_of(claims), std::move(*state)};
  return submit(
      {std::move(write),
       [reply = std::move(reply), now](const WriteResult& result) {
         reply(result.ok ? json_response(wire::Json(json_pack("{s:f}", "received", now))) : busy_response());
       }},
      pause);
}

std::optional<Response> Service::cycle(Request& request, const std::function<void()>& pause, Reply reply) {
  std::string error;
  auto cycle = wire::parse_cycle(request.body, error);
  if (!cycle) return error_response(400, error);
  if (request.claims && cycle->cluster != request.claims->cluster)
    return error_response(403,
                          "cluster is " + cycle->cluster + ", the token is of " + request.claims->cluster);
  const auto jobs = static_cast<json_int_t>(cycle->jobs.size());
  return submit(
      {std::move(*cycle),
       [reply = std::move(reply), jobs](const WriteResult& result) {
         reply(result.ok ? json_response(wire::Json(json_pack("{s:I}", "jobs", jobs))) : busy_response());
       }},
      pause);
}

std::optional<std::string> Service::cluster_of(const Request& request, Response& refused) {
  std::string name = request.argument("cluster");
  if (name.empty() && request.claims) return request.claims->cluster;
  if (name.empty()) {
    if (auto only = reader_.only_cluster()) return only;
    refused = error_response(400, "cluster is missing, and the store does not hold exactly one");
    return std::nullopt;
  }
  if (!wire::valid_cluster(name)) {
    refused = error_response(400, "cluster is not a name of 1 to 63 graphic ASCII characters");
    return std::nullopt;
  }
  // status is public here for those without a token too; a token must not see more of another cluster than
  // they do
  if (request.claims && !request.peer.local && !options_.public_status && name != request.claims->cluster) {
    refused = error_response(403, "cluster is " + name + ", the token is of " + request.claims->cluster);
    return std::nullopt;
  }
  return name;
}

Response Service::points(const Request& request, double now) {
  Response refused;
  std::int64_t after = 0, max = 10000;
  const auto cluster = cluster_of(request, refused);
  if (!cluster || !number_argument(request, "after", std::int64_t{0}, INT64_MAX, after, refused) ||
      !number_argument(request, "max", std::int64_t{1}, std::int64_t{100000}, max, refused))
    return refused;
  return json_response(reader_.points(*cluster, after, max, now));
}

Response Service::families(const Request& request) {
  Response refused;
  const auto cluster = cluster_of(request, refused);
  return cluster ? json_response(reader_.families(*cluster)) : refused;
}

Response Service::jobs(const Request& request, double now, double monotonic) {
  Response refused;
  JobsQuery query;
  std::uint32_t job_id = 0;
  const auto cluster = cluster_of(request, refused);
  if (!cluster || !number_argument(request, "job_id", std::uint32_t{1}, UINT32_MAX, job_id, refused) ||
      !number_argument(request, "max", std::int64_t{1}, std::int64_t{100000}, query.max, refused))
    return refused;
  query.cluster = *cluster;
  if (job_id != 0) query.job_id = job_id;
  if (const std::string user = request.argument("user"); !user.empty()) query.user = user;
  query.all = request.argument("all") == "1";
  // a long answer keeps a thread busy for as long as many short ones
  if (query.all && !request.limited_as.empty()) requests_limiter_.spend(request.limited_as, 10, monotonic);
  return json_response(reader_.jobs(query, now));
}

Response Service::job(const Request& request, double now, double monotonic) {
  Response refused;
  std::int64_t points = 200;
  const auto cluster = cluster_of(request, refused);
  if (!cluster || !number_argument(request, "points", std::int64_t{0}, std::int64_t{100000}, points, refused))
    return refused;
  const std::string only = request.argument("only");
  if (only == "target") return target(request, *cluster, monotonic);
  if (!only.empty())
    return error_response(400, "only is \"" + only.substr(0, 40) + "\", target is needed, or nothing");
  const wire::Json job = reader_.job(*cluster, request.job_id, points, now);
  return job ? json_response(job) : unknown_job(request, *cluster);
}

/// Thousands of agents ask this every second: the text is kept until the job changes. For its own token only,
/// so that nobody fills the table or passes for many agents.
Response Service::target(const Request& request, const std::string& cluster, double monotonic) {
  const bool own = request.claims && request.claims->role == MLQ_ROLE_JOB &&
                   request.claims->job_id == request.job_id && request.claims->cluster == cluster;
  TargetAnswers& targets = writer_.targets();
  TargetAnswers::Asked asked;
  if (own) asked = targets.ask(cluster, request.job_id, monotonic);
  if (asked.text) return {200, *asked.text};
  const wire::Json told = reader_.target(cluster, request.job_id, targets.pause(monotonic));
  if (!told) return unknown_job(request, cluster);
  Response response = json_response(told);
  if (own && response.status == 200)
    targets.keep(cluster, request.job_id, asked.ticket, std::make_shared<const std::string>(response.body),
                 monotonic);
  return response;
}

Response Service::health() {
  const bool failing = writer_.counters().failing;
  Response response =
      json_response(wire::Json(json_pack("{s:i, s:s, s:s}", "v", wire::kVersion, "status",
                                         failing ? "failing" : "ok", "epoch", reader_.epoch().c_str())));
  if (failing) response.status = 503;
  return response;
}

Response Service::metrics(double monotonic) {
  metrics_.agents = writer_.targets().agents(monotonic);
  return {200, openmetrics(metrics_, writer_.counters(), reader_.facts()),
          "application/openmetrics-text; version=1.0.0; charset=utf-8"};
}

}  // namespace mlq::mlqd
