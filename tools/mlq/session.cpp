// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/session.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "mlq_build.h"
#include "tools/mlq/error.hpp"
#include "tools/mlq/format.hpp"

namespace mlq::cli {
namespace {

constexpr int kSchemaVersion = 1;

/// A job or an array; with a task one of the array's tasks.
struct JobName {
  std::uint32_t id = 0;
  std::optional<std::uint32_t> task;

  bool names(const JobView& job) const {
    if (task) return job.array_job_id == id && job.array_task_id == *task;
    return job.job_id == id || job.array_job_id == id;
  }
};

/// A number, N_K of task K of array N, or N+K as squeue writes component K of heterogeneous job N: its number
/// is N plus K.
JobName parse_job_name(const std::string& option, const std::string& text) {
  const char* last = text.data() + text.size();
  std::uint32_t id = 0, part = 0;
  char joint = 0;
  auto [end, code] = std::from_chars(text.data(), last, id);
  if (code == std::errc() && end != last && (*end == '+' || *end == '_')) {
    joint = *end;
    const auto rest = std::from_chars(end + 1, last, part);
    end = rest.ptr;
    code = rest.ec;
  }
  if (code != std::errc() || end != last || id == 0 || (joint == '+' && part > UINT32_MAX - id))
    throw Error(
        option +
        ": a job id is a number from 1, N_K as of an array, or N+K as of a heterogeneous job, given was \"" +
        printable(text) + "\"");
  if (joint == '_') return {id, part};
  return {id + part, std::nullopt};
}

std::string jobs_path(const Place& place, bool all, const std::string& more) {
  return std::string("/v1/jobs?max=100000") + (all ? "&all=1" : "") +
         (place.cluster.empty() ? "" : query("cluster", place.cluster)) + more;
}

/// The number of a job that may be given as a task of an array: of equal names the newest. 0: not known.
std::uint32_t number_of(const Place& place, const JobName& name) {
  if (!name.task) return name.id;
  // a job's token is for the job alone, which knows its own number
  if (environment("SLURM_ARRAY_JOB_ID") == std::to_string(name.id) &&
      environment("SLURM_ARRAY_TASK_ID") == std::to_string(*name.task))
    return parse_job_name("SLURM_JOB_ID", environment("SLURM_JOB_ID")).id;
  const wire::Json json = ask(place, jobs_path(place, true, "&job_id=" + std::to_string(name.id)));
  std::size_t index = 0;
  json_t* entry = nullptr;
  json_array_foreach(json_object_get(json.get(), "jobs"), index, entry) {
    const JobView job = read_job(entry);
    if (name.names(job)) return job.job_id;
  }
  return 0;
}

std::string own_name() {
  const passwd* entry = getpwuid(getuid());
  return entry ? entry->pw_name : std::to_string(getuid());
}

bool contains(const std::vector<std::string>& list, const std::string& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

json_t* texts(const std::vector<std::string>& list) {
  json_t* array = json_array();
  for (const std::string& text : list) json_array_append_new(array, json_stringn(text.data(), text.size()));
  return array;
}

json_t* meta(const std::string& command) {
  return json_pack("{s:s, s:s}", "command", command.c_str(), "version", PACKAGE_VERSION);
}

}  // namespace

void add_place_options(CLI::App& command, PlaceOptions& options) {
  command
      .add_option("--url", options.url, "mlqd's address: unix:/PATH, http://HOST:PORT or https://HOST:PORT")
      ->type_name("URL");
  command.add_option("-M,--cluster,--clusters", options.cluster, "cluster, where mlqd serves several")
      ->type_name("NAME");
}

void add_filter_options(CLI::App& command, FilterOptions& options) {
  const auto list = [&](const char* names, std::vector<std::string>& out, const char* help,
                        const char* type) {
    command.add_option(names, out, help)->delimiter(',')->allow_extra_args(false)->type_name(type);
  };
  list("-j,--jobs", options.jobs, "only these jobs, ended ones too", "ID");
  list("-u,--user,--users", options.users, "only jobs of these users", "NAME");
  list("-p,--partition,--partitions", options.partitions, "only jobs in these partitions", "NAME");
  list("-A,--account,--accounts", options.accounts, "only jobs of these accounts", "NAME");
  command.add_flag("--me", options.me, "only my jobs");
  command.add_flag("-a,--all", options.all, "jobs that have ended too");
}

OneJob ask_job(const Place& place, const std::string& job, std::uint32_t points) {
  const std::uint32_t number = number_of(place, parse_job_name("JOBID", job));
  wire::Json json;
  if (number > 0)
    json = ask(place, "/v1/jobs/" + std::to_string(number) + "?points=" + std::to_string(points) +
                          (place.cluster.empty() ? "" : query("cluster", place.cluster)));
  if (!json)
    throw Error("mlqd at " + place.url + " does not know job " + printable(job) +
                (place.cluster.empty() ? "" : " of cluster " + printable(place.cluster)) +
                ": it was submitted without --ml-quality, within the last seconds, or too long ago "
                "(mlq status -a lists the known ones)");
  OneJob one;
  one.answer.jobs.push_back(read_job(json.get()));
  one.points = read_points(json_object_get(json.get(), "points"));
  one.answer.place = place;
  const char* cluster = json_string_value(json_object_get(json.get(), "cluster"));
  one.answer.cluster = cluster ? cluster : place.cluster;
  one.answer.now = json_number_value(json_object_get(json.get(), "time"));
  one.answer.cycle = read_cycle(json_object_get(json.get(), "cycle"));
  one.answer.warnings = warnings_of(one.answer);
  return one;
}

std::vector<std::string> warnings_of(const Answer& answer) {
  const CycleView& cycle = answer.cycle;
  if (!cycle.time)
    return {"no scheduler of cluster " + printable(answer.cluster) +
            " has told this mlqd of its jobs yet: is SchedulerType=sched/ml_quality set there, with its "
            "mlq_url?"};
  const double silent = answer.now - *cycle.time;
  if (silent > std::max(30.0, 5 * cycle.interval.value_or(0)))
    return {"the scheduler was last heard of " + duration(silent) +
            " ago: states, ranks and forecasts are that old"};
  return {};
}

Answer ask_jobs(const Place& place, const FilterOptions& filter) {
  std::vector<JobName> names;
  for (const std::string& name : filter.jobs) names.push_back(parse_job_name("-j", name));
  std::vector<std::string> users = filter.users;
  if (filter.me) users.push_back(own_name());

  std::string more;
  if (names.size() == 1) more += "&job_id=" + std::to_string(names[0].id);
  if (users.size() == 1) more += query("user", users[0]);
  const wire::Json json = ask(place, jobs_path(place, filter.all || !names.empty(), more));

  Answer answer;
  answer.place = place;
  const char* cluster = json_string_value(json_object_get(json.get(), "cluster"));
  answer.cluster = cluster ? cluster : place.cluster;
  answer.now = json_number_value(json_object_get(json.get(), "time"));
  answer.cycle = read_cycle(json_object_get(json.get(), "cycle"));
  answer.warnings = warnings_of(answer);
  std::size_t index = 0;
  json_t* entry = nullptr;
  json_array_foreach(json_object_get(json.get(), "jobs"), index, entry) {
    JobView job = read_job(entry);
    const bool named = names.empty() || std::any_of(names.begin(), names.end(),
                                                    [&job](const JobName& name) { return name.names(job); });
    if (named && contains(users, job.user) && contains(filter.partitions, job.partition) &&
        contains(filter.accounts, job.account))
      answer.jobs.push_back(std::move(job));
  }
  std::stable_sort(answer.jobs.begin(), answer.jobs.end(), shown_before);
  return answer;
}

wire::Json json_head(const std::string& command, const Answer& answer) {
  wire::Json head(json_pack("{s:i, s:o, s:[], s:o}", "schema_version", kSchemaVersion, "meta", meta(command),
                            "errors", "warnings", texts(answer.warnings)));
  json_t* about = json_object_get(head.get(), "meta");
  json_object_set_new(about, "mlqd", json_string(answer.place.url.c_str()));
  json_object_set_new(about, "cluster", json_string(answer.cluster.c_str()));
  json_object_set_new(about, "time", json_real(answer.now));
  return head;
}

void print_json(const json_t* json) {
  char* text = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
  std::puts(text ? text : "{}");
  std::free(text);
}

int run_command(const std::string& command, bool json, const std::function<void()>& body) {
  try {
    body();
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "mlq: error: %s\n", error.what());
    if (json)
      print_json(
          wire::Json(json_pack("{s:i, s:o, s:[o], s:[]}", "schema_version", kSchemaVersion, "meta",
                               meta(command), "errors",
                               json_pack("{s:s}", "error", printable(error.what()).c_str()), "warnings"))
              .get());
    return 1;
  }
}

bool colours_wanted() {
  const char* refused = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) && !(refused && *refused);
}

}  // namespace mlq::cli
