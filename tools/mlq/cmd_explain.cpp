// SPDX-License-Identifier: GPL-2.0-or-later
// mlq explain: one job, its curve and why it has its rank.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "tools/mlq/commands.hpp"
#include "tools/mlq/curve_plot.hpp"
#include "tools/mlq/error.hpp"
#include "tools/mlq/explanation.hpp"
#include "tools/mlq/format.hpp"
#include "tools/mlq/job_table.hpp"
#include "tools/mlq/session.hpp"
#include "tools/mlq/sketch.hpp"

namespace mlq::cli {
namespace {

struct ExplainOptions {
  PlaceOptions place;
  std::string job;
  std::uint32_t points = 200;
  std::string plot;
  bool json = false, parsable = false, curve = false;
};

struct Story {
  Answer answer;
  JobView job;
  std::vector<CurvePoint> points;
};

Story ask_story(const ExplainOptions& options) {
  const Place place = find_collector(options.place.url, options.place.cluster);
  OneJob one = ask_job(place, options.job, options.points);
  return {one.answer, one.answer.jobs.front(), std::move(one.points)};
}

void print_explain_json(const Story& story) {
  const wire::Json head = json_head("explain", story.answer);
  json_t* points = json_array();
  for (const CurvePoint& point : story.points) {
    json_t* loss = point.loss ? json_real(*point.loss) : json_null();
    json_t* cores = point.cores ? json_real(*point.cores) : json_null();
    json_array_append_new(points, json_pack("{s:f, s:o, s:f, s:o}", "iteration", point.iteration, "loss",
                                            loss, "time", point.time, "cores", cores));
  }
  json_object_set_new(head.get(), "job", job_json(story.job, story.answer.now).release());
  json_object_set_new(head.get(), "verdict_meaning", json_string(verdict_meaning(story.job.verdict).c_str()));
  json_object_set_new(head.get(), "points", points);
  print_json(head.get());
}

SketchSize terminal_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {};
  return {std::clamp<std::size_t>(size.ws_col - 1, 30, 78), 10};
}

void print_text(const Story& story, bool curve) {
  for (const std::string& warning : story.answer.warnings)
    std::fprintf(stderr, "mlq: warning: %s\n", warning.c_str());
  for (const auto& [label, text] : explain(story.job, story.answer.cycle, story.answer.now))
    std::printf("%-10s %s\n", label.c_str(), text.c_str());
  if (!curve && !isatty(STDOUT_FILENO)) return;
  const auto lines = sketch(story.points, story.job.forecast, terminal_size());
  if (lines.empty()) return;
  std::puts("");
  for (const std::string& line : lines) std::puts(line.c_str());
}

void plot(const Story& story, const std::string& file) {
  std::vector<CurveRow> rows;
  std::vector<PlotFuture> futures;
  for (const CurvePoint& point : story.points)
    if (point.loss) rows.push_back({.step = point.iteration, .loss = *point.loss});
  const ForecastView& forecast = story.job.forecast;
  if (!rows.empty() && forecast.iterations && forecast.predicted) {
    const double from = rows.back().step, now = forecast.now.value_or(rows.back().loss);
    const double then = *forecast.predicted;
    futures.push_back(
        {{from, now, now, now},
         {from + *forecast.iterations, then, forecast.lower.value_or(then), forecast.upper.value_or(then)}});
  }
  if (rows.empty()) throw Error("--plot: job " + shown_id(story.job) + " has reported no finite loss yet");
  const std::string title = shown_id(story.job) + " " + printable(story.job.name);
  if (const std::string wrong = plot_curve(title, rows, futures, file); !wrong.empty())
    throw Error("--plot: " + wrong);
}

void show_explain(const ExplainOptions& options) {
  const Story story = ask_story(options);
  if (options.json)
    print_explain_json(story);
  else if (options.parsable)
    for (const std::string& line : format_table({story.job}, parse_format("all"), story.answer.now,
                                                TableStyle::parsable, Header::shown))
      std::puts(line.c_str());
  else
    print_text(story, options.curve);
  if (!options.plot.empty()) plot(story, options.plot);
}

}  // namespace

void add_explain(CLI::App& app, Context& context) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command =
      app.add_subcommand("explain", "one job: its losses, fit, forecast, and why it has its rank");
  command->add_option("JOBID", options->job, "the job")->required();
  command->add_option("--points", options->points, "newest reports to take for the curve")
      ->check(CLI::Range(0u, 100000u))
      ->capture_default_str();
  command->add_option("--plot", options->plot, "draw the curve into this PNG file, with gnuplot")
      ->type_name("FILE.png");
  command->add_flag("--curve", options->curve, "draw the curve although stdout is no terminal");
  auto* parsable =
      command->add_flag("-P,--parsable2", options->parsable, "every field of mlq status, between bars");
  command->add_flag("--json", options->json, "as JSON, with the points")->excludes(parsable);
  add_place_options(*command, options->place);
  command->callback([options, &context] {
    context.exit_code = run_command("explain", options->json, [&] { show_explain(*options); });
  });
}

}  // namespace mlq::cli
