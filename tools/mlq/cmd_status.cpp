// SPDX-License-Identifier: GPL-2.0-or-later
// mlq status: all ML jobs, one a line.
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "tools/mlq/commands.hpp"
#include "tools/mlq/error.hpp"
#include "tools/mlq/job_table.hpp"
#include "tools/mlq/session.hpp"

namespace mlq::cli {
namespace {

struct StatusOptions {
  PlaceOptions place;
  FilterOptions filter;
  std::string format = kDefaultFormat;
  bool json = false, parsable = false, noheader = false;
};

void print_status_json(const Answer& answer) {
  const wire::Json head = json_head("status", answer);
  json_t* jobs = json_array();
  for (const JobView& job : answer.jobs) json_array_append_new(jobs, job_json(job, answer.now).release());
  json_object_set_new(head.get(), "jobs", jobs);
  print_json(head.get());
}

void show_status(const StatusOptions& options) {
  const std::vector<ShownColumn> columns = parse_format(options.format);
  const Answer answer = ask_jobs(find_collector(options.place.url, options.place.cluster), options.filter);
  if (options.json) return print_status_json(answer);
  for (const std::string& warning : answer.warnings)
    std::fprintf(stderr, "mlq: warning: %s\n", warning.c_str());
  const TableStyle style = options.parsable   ? TableStyle::parsable
                           : colours_wanted() ? TableStyle::coloured
                                              : TableStyle::aligned;
  for (const std::string& line : format_table(answer.jobs, columns, answer.now, style,
                                              options.noheader ? Header::left_out : Header::shown))
    std::puts(line.c_str());
}

}  // namespace

void add_status(CLI::App& app, Context& context) {
  auto options = std::make_shared<StatusOptions>();
  CLI::App* command = app.add_subcommand("status", "ML jobs: loss, share reached, predicted gain, rank");
  add_filter_options(*command, options->filter);
  command
      ->add_option("-o,--format", options->format,
                   "FIELD[:WIDTH],... of " + field_names() + "; \"all\" for every field")
      ->type_name("FIELDS")
      ->capture_default_str();
  command->add_flag("-n,--noheader", options->noheader, "no line of headers");
  auto* parsable = command->add_flag("-P,--parsable2", options->parsable, "fields between bars, nothing cut");
  command->add_flag("--json", options->json, "as JSON")->excludes(parsable);
  add_place_options(*command, options->place);
  command->callback([options, &context] {
    context.exit_code = run_command("status", options->json, [&] { show_status(*options); });
  });
}

}  // namespace mlq::cli
