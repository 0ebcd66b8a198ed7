// SPDX-License-Identifier: GPL-2.0-or-later
// Node speeds: reported while a job runs, asked for when another one starts.
#include <cstdio>

#include "tools/mlqd/service.hpp"

namespace mlq::mlqd {
namespace {

SpeedKey key_of(const mlq_claims_t& claims, std::string family, std::string unit) {
  return {claims.cluster, claims.uid, std::move(family), std::move(unit)};
}

/// One "node samples/s" a line: for a program without a JSON parser.
std::string lines_of(const json_t* speeds) {
  std::string text;
  const char* node = nullptr;
  json_t* speed = nullptr;
  json_object_foreach(const_cast<json_t*>(speeds), node, speed) {
    char number[32];
    std::snprintf(number, sizeof number, " %.9g\n", json_number_value(speed));
    text += node;
    text += number;
  }
  return text;
}

}  // namespace

std::optional<Response> Service::add_speeds(Request& request, const std::function<void()>& pause,
                                            Reply reply) {
  std::string error;
  auto report = wire::parse_speeds(request.body, error);
  if (!report) return error_response(400, error);
  const mlq_claims_t& claims = *request.claims;
  const auto ranks = static_cast<json_int_t>(report->ranks.size());
  SpeedWrite write{{claims.cluster, claims.job_id, claims.uid, claims.restarts, claims.issued},
                   std::move(*report)};
  return submit({std::move(write),
                 [reply = std::move(reply), ranks](const WriteResult& result) {
                   if (result.ok) return reply({200, "{\"ranks\": " + std::to_string(ranks) + "}"});
                   Response busy = error_response(503, "the store does not take data now");
                   busy.retry_after = 1;
                   reply(busy);
                 }},
                pause);
}

Response Service::speeds(const Request& request, double now) {
  const std::string family = request.argument("family"), unit = request.argument("unit"),
                    format = request.argument("format");
  if (!wire::valid_speed_family(family))
    return error_response(400, "family is missing or no name of 1 to 192 graphic ASCII characters");
  if (!wire::valid_speed_unit(unit))
    return error_response(400, "unit is missing or none of core, gpu, node or a number of cores up to 9999");
  if (!format.empty() && format != "text" && format != "json")
    return error_response(400, "format is \"" + format.substr(0, 40) + "\", text or json is needed");
  const wire::Json learnt = reader_.speeds(key_of(*request.claims, family, unit), now);
  if (format == "text") return {200, lines_of(learnt.get()), "text/plain"};
  return {200, wire::to_text(
                   wire::Json(json_pack("{s:i, s:O}", "v", wire::kVersion, "speeds", learnt.get())).get())};
}

}  // namespace mlq::mlqd
