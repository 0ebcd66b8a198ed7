// SPDX-License-Identifier: GPL-2.0-or-later
// mlq status: all ML jobs, one a line.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "tools/mlq/commands.hpp"
#include "tools/mlq/error.hpp"
#include "tools/mlq/job_table.hpp"
#include "tools/mlq/rank_table.hpp"
#include "tools/mlq/session.hpp"

namespace mlq::cli {
namespace {

struct StatusOptions {
  PlaceOptions place;
  FilterOptions filter;
  std::string format = kDefaultFormat;
  bool json = false, parsable = false, noheader = false, ranks = false;
};

constexpr std::size_t kRanksOfJobs = 64;  ///< each costs a question, and an array may have thousands of tasks

/// What the ranks of the first of the chosen jobs do, where they are named and it is shown.
std::vector<JobRanks> ranks_of(const StatusOptions& options, Answer& answer) {
  std::vector<JobRanks> ranks;
  if (options.filter.jobs.empty() || (options.parsable && !options.ranks)) return ranks;
  for (const JobView& job : answer.jobs) {
    if (ranks.size() == kRanksOfJobs) {
      answer.warnings.push_back("what ranks do is shown of the first " + std::to_string(kRanksOfJobs) +
                                " jobs only: name fewer with -j");
      break;
    }
    ranks.push_back({shown_id(job), ask_ranks(answer.place, job.job_id)});
  }
  return ranks;
}

bool any_rank(const std::vector<JobRanks>& jobs) {
  return std::any_of(jobs.begin(), jobs.end(), [](const JobRanks& job) { return !job.ranks.empty(); });
}

void print_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::puts(line.c_str());
}

void print_status_json(const Answer& answer, const std::vector<JobRanks>& ranks) {
  const wire::Json head = json_head("status", answer);
  json_t* jobs = json_array();
  for (std::size_t i = 0; i < answer.jobs.size(); ++i) {
    wire::Json job = job_json(answer.jobs[i], answer.now);
    if (i < ranks.size()) json_object_set_new(job.get(), "ranks", ranks_json(ranks[i].ranks, answer.now));
    json_array_append_new(jobs, job.release());
  }
  json_object_set_new(head.get(), "jobs", jobs);
  print_json(head.get());
}

void show_status(const StatusOptions& options) {
  const std::vector<ShownColumn> columns = parse_format(options.format);
  Answer answer = ask_jobs(find_collector(options.place.url, options.place.cluster), options.filter);
  if (options.ranks && options.filter.jobs.empty())
    throw Error("--ranks shows the ranks of named jobs: -j ID is needed");
  const std::vector<JobRanks> ranks = ranks_of(options, answer);
  if (options.json) return print_status_json(answer, ranks);
  for (const std::string& warning : answer.warnings)
    std::fprintf(stderr, "mlq: warning: %s\n", warning.c_str());
  const TableStyle style = options.parsable   ? TableStyle::parsable
                           : colours_wanted() ? TableStyle::coloured
                                              : TableStyle::aligned;
  const Header header = options.noheader ? Header::left_out : Header::shown;
  if (!options.ranks) print_lines(format_table(answer.jobs, columns, answer.now, style, header));
  // two tables in one would break whoever reads lines with fields
  if (!options.ranks && (options.parsable || !any_rank(ranks))) return;
  if (!options.ranks) std::puts("");
  print_lines(format_ranks(ranks, answer.now, style, header));
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
  command->add_flag("--ranks", options->ranks, "only what the ranks of the jobs of -j do");
  command->add_flag("-n,--noheader", options->noheader, "no line of headers");
  auto* parsable = command->add_flag("-P,--parsable2", options->parsable, "fields between bars, nothing cut");
  command->add_flag("--json", options->json, "as JSON")->excludes(parsable);
  add_place_options(*command, options->place);
  command->callback([options, &context] {
    context.exit_code = run_command("status", options->json, [&] { show_status(*options); });
  });
}

}  // namespace mlq::cli
