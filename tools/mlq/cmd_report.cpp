// SPDX-License-Identifier: GPL-2.0-or-later
// mlq report: what a job cost, its companions and earlier runs included, and what that bought.
#include <cstdio>
#include <memory>

#include "tools/mlq/commands.hpp"
#include "tools/mlq/error.hpp"
#include "tools/mlq/format.hpp"
#include "tools/mlq/session.hpp"

namespace mlq::cli {
namespace {

struct ReportOptions {
  PlaceOptions place;
  std::string job;
  bool json = false, parsable = false;
};

struct Row {
  const char* what;
  Number core_seconds;
  Number jobs;  ///< records in Slurm's accounting
};

std::vector<Row> rows_of(const JobView& job) {
  const SizeView& size = job.size;
  const bool ran = job.start || job.ended;
  return {{"base", size.used_base, ran ? Number(1) : Number(0)},
          {"companions", size.used_companions, size.companion_jobs},
          {"earlier", size.used_earlier, job.restarts},
          {"total", job.core_seconds, std::nullopt}};
}

void print_report_json(const Answer& answer, const JobView& job) {
  const wire::Json head = json_head("report", answer);
  json_t* rows = json_object();
  for (const Row& row : rows_of(job))
    json_object_set_new(rows, row.what, row.core_seconds ? json_real(*row.core_seconds) : json_null());
  json_object_set_new(head.get(), "core_seconds", rows);
  json_object_set_new(head.get(), "job", job_json(job, answer.now).release());
  print_json(head.get());
}

void print_report(const Answer& answer, const JobView& job) {
  for (const std::string& warning : answer.warnings)
    std::fprintf(stderr, "mlq: warning: %s\n", warning.c_str());
  std::printf("%-12s %14s %6s\n", "CORE_SECONDS", "USED", "JOBS");
  for (const Row& row : rows_of(job)) {
    const std::string used = significant(row.core_seconds, 9), jobs = row.jobs ? integer(row.jobs) : "-";
    std::printf("%-12s %14s %6s\n", row.what, used.c_str(), jobs.c_str());
  }
  if (job.size.moves)
    std::printf("moves        %14s        %s s without progress by them\n", integer(job.size.moves).c_str(),
                significant(job.size.lost_s, 4).c_str());
  if (job.fraction)
    std::printf("reached      %14s        of the reachable reduction\n", percent(job.fraction).c_str());
}

void show_report(const ReportOptions& options) {
  const Place place = find_collector(options.place.url, options.place.cluster);
  const Answer answer = ask_job(place, options.job, 0).answer;
  const JobView& job = answer.jobs.front();
  if (options.json) return print_report_json(answer, job);
  if (!options.parsable) return print_report(answer, job);
  std::puts("CORE_SECONDS|USED|JOBS");
  for (const Row& row : rows_of(job)) {
    const std::string used = significant(row.core_seconds, 12), jobs = row.jobs ? integer(row.jobs) : "-";
    std::printf("%s|%s|%s\n", row.what, used.c_str(), jobs.c_str());
  }
}

}  // namespace

void add_report(CLI::App& app, Context& context) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand(
      "report", "what one job cost: its own cores, its companions, earlier runs; and what that bought");
  command->add_option("JOBID", options->job, "the job")->required();
  auto* parsable = command->add_flag("-P,--parsable2", options->parsable, "fields between bars");
  command->add_flag("--json", options->json, "as JSON")->excludes(parsable);
  add_place_options(*command, options->place);
  command->callback([options, &context] {
    context.exit_code = run_command("report", options->json, [&] { show_report(*options); });
  });
}

}  // namespace mlq::cli
