// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/size_view.hpp"

namespace mlq::cli {
namespace {

struct Member {
  const char* group;  ///< of the job: target, agent or usage
  const char* name;
  const char* shown;  ///< in --json
  Number SizeView::*member;
};
constexpr Member kNumbers[] = {
    {"target", "units", "target", &SizeView::target},
    {"target", "base", "base", &SizeView::base},
    {"target", "held", "held", &SizeView::held},
    {"target", "lead", "lead", &SizeView::lead},
    {"target", "since", "since", &SizeView::since},
    {"agent", "moves", "moves", &SizeView::moves},
    {"agent", "lost_s", "lost_s", &SizeView::lost_s},
    {"agent", "move_s", "move_s", &SizeView::move_s},
    {"agent", "ranks", "ranks", &SizeView::ranks},
    {"agent", "refused_at", "refused_at", &SizeView::refused_at},
    {"agent", "received", "heard", &SizeView::heard},
    {"usage", "base", "used_base", &SizeView::used_base},
    {"usage", "companions", "used_companions", &SizeView::used_companions},
    {"usage", "earlier", "used_earlier", &SizeView::used_earlier},
    {"usage", "companion_jobs", "companion_jobs", &SizeView::companion_jobs},
};

}  // namespace

SizeView read_size(const json_t* job) {
  SizeView size;
  const json_t* status = json_object_get(job, "status");
  const json_t* agent = json_object_get(job, "agent");
  for (const Member& member : kNumbers) {
    const bool of_agent = std::string_view(member.group) == "agent";
    const json_t* group = of_agent ? agent : json_object_get(status, member.group);
    size.*member.member = number(json_object_get(group, member.name));
  }
  size.phase = text(agent, "phase");
  size.refused = text(agent, "refused");
  const json_t* resize = json_object_get(status, "resize");
  size.reason = text(resize, "reason");
  size.change = text(resize, "change");
  std::size_t index = 0;
  json_t* one = nullptr;
  json_array_foreach(json_object_get(resize, "companions"), index, one) {
    const json_int_t job_id = json_integer_value(json_object_get(one, "job_id"));
    if (job_id <= 0 || job_id > UINT32_MAX) continue;
    size.companions.push_back(
        {static_cast<std::uint32_t>(job_id), number(json_object_get(one, "units")), text(one, "state")});
  }
  return size;
}

wire::Json size_json(const SizeView& size) {
  wire::Json object(json_object());
  for (const Member& member : kNumbers)
    json_object_set_new(object.get(), member.shown, number_json(size.*member.member));
  json_object_set_new(object.get(), "phase", text_json(size.phase));
  json_object_set_new(object.get(), "refused", text_json(size.refused));
  json_object_set_new(object.get(), "reason", text_json(size.reason));
  json_object_set_new(object.get(), "change", text_json(size.change));
  json_t* companions = json_array();
  for (const CompanionView& companion : size.companions) {
    json_t* one = json_object();
    json_object_set_new(one, "job_id", json_integer(companion.job_id));
    json_object_set_new(one, "units", number_json(companion.units));
    json_object_set_new(one, "state", text_json(companion.state));
    json_array_append_new(companions, one);
  }
  json_object_set_new(object.get(), "companions", companions);
  return object;
}

}  // namespace mlq::cli
