// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/run/agent_report.hpp"

#include "core/wire/wire.hpp"

namespace mlq::run {
namespace {

constexpr std::size_t kLeftMax = 1000;
constexpr std::size_t kRefusedMax = 500;  ///< bytes, at most two each in UTF-8

json_t* companion_list(const Companions& companions) {
  json_t* list = json_array();
  for (const auto& record : companions.records()) {
    if (record->job == 0) continue;
    json_array_append_new(list, json_pack("{s:I, s:I, s:s}", "job_id", static_cast<json_int_t>(record->job),
                                          "units", static_cast<json_int_t>(record->grant.units), "state",
                                          record->leaving  ? "LEAVING"
                                          : record->joined ? "RUNNING"
                                                           : "PENDING"));
  }
  return list;
}

}  // namespace

std::string agent_report(const Group& group, const Companions* companions, bool saves,
                         const Refusal& why_not) {
  const wire::Json report(
      json_pack("{s:i, s:f, s:s, s:I, s:I, s:I, s:I, s:f, s:f}", "v", wire::kVersion, "time", wall_time(),
                "phase", group.phase(), "generation", static_cast<json_int_t>(group.generation()), "units",
                static_cast<json_int_t>(group.units()), "ranks", static_cast<json_int_t>(group.ranks()),
                "moves", static_cast<json_int_t>(group.moves()), "lost_s", group.lost_seconds(), "move_s",
                group.move_seconds()));
  json_object_set_new(report.get(), "companions", companions ? companion_list(*companions) : json_array());
  json_t* left = json_array();
  for (const auto& member : group.members())
    if (member->base && member->state == MemberState::gone && json_array_size(left) < kLeftMax)
      json_array_append_new(left, json_string(member->host.c_str()));
  if (json_array_size(left) > 0)
    json_object_set_new(report.get(), "left_nodes", left);
  else
    json_decref(left);
  if (saves) json_object_set_new(report.get(), "saves", json_true());
  const Refusal& refusal = why_not.why.empty() && companions ? companions->refusal() : why_not;
  if (!refusal.why.empty()) {
    // cut first: half a character would be no text
    const std::string text = text_of_bytes(std::string_view(refusal.why).substr(0, kRefusedMax));
    json_object_set_new(report.get(), "refused", json_string(text.c_str()));
    json_object_set_new(report.get(), "refused_at", json_real(refusal.at));
  }
  return wire::to_text(report.get());
}

}  // namespace mlq::run
