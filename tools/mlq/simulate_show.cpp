// SPDX-License-Identifier: GPL-2.0-or-later
#include <jansson.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "core/wire/wire.hpp"
#include "tools/mlq/simulate.hpp"

namespace mlq::cli {

namespace {

using simulation::Summary;

std::string milestone_name(std::size_t i) {
  return std::to_string(static_cast<int>(100 * simulation::milestones[i] + 0.5));
}

json_t* object_of(const PolicyRuns& result) {
  const Summary& s = result.summary;
  json_t* times = json_object();
  for (std::size_t i = 0; i < s.time_to.size(); ++i)
    json_object_set_new(times, milestone_name(i).c_str(), json_real(s.time_to[i]));
  return json_pack("{s:s, s:o, s:f, s:f, s:f, s:f, s:{s:f, s:f, s:f}, s:f, s:f, s:f, s:{s:f, s:f}, s:i}",
                   "policy", result.policy.c_str(), "time_to", times, "mean_norm_loss", s.mean_norm_loss,
                   "mean_norm_loss_all", s.mean_norm_loss_all, "mean_finish", s.mean_finish, "p99_finish",
                   s.p99_finish, "share", "high25", s.share[0], "next25", s.share[1], "low50", s.share[2],
                   "moves", s.moves, "utilisation", s.utilisation, "jain", s.jain, "decision_ms", "median",
                   s.decision_median_ms, "max", s.decision_max_ms, "seeds",
                   static_cast<int>(result.runs.size()));
}

// Mean over stretches of the same part of the time axis; runs of all seeds together.
struct Bin {
  double seconds = 0, loss = 0;
  std::array<double, 3> cores{};
};

std::vector<Bin> bins_of(const PolicyRuns& result, double width, std::size_t count) {
  std::vector<Bin> bins(count);
  for (const auto& run : result.runs)
    for (const auto& sample : run.samples) {
      double from = sample.time;
      const double end = sample.time + sample.seconds;
      for (auto b = static_cast<std::size_t>(from / width); b < count && from < end; ++b) {
        const double to = std::min(end, static_cast<double>(b + 1) * width), seconds = to - from;
        bins[b].seconds += seconds;
        bins[b].loss += sample.norm_loss * seconds;
        for (std::size_t g = 0; g < 3; ++g) bins[b].cores[g] += sample.cores[g] * seconds;
        from = to;
      }
    }
  return bins;
}

std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

std::string terminal_for(const std::string& file) {
  const auto ends = [&](const char* end) {
    const std::size_t n = std::strlen(end);
    return file.size() > n && file.compare(file.size() - n, n, end) == 0;
  };
  if (std::any_of(file.begin(), file.end(), [](unsigned char c) { return c < 32; }))
    throw SimulateError("--plot: the name of the file holds a control character");
  if (ends(".png")) return "pngcairo size 1500,1000";
  if (ends(".svg")) return "svg size 1500,1000";
  if (ends(".pdf")) return "pdfcairo size 30cm,20cm";
  throw SimulateError("--plot " + file + ": the ending must be .png, .svg or .pdf");
}

double span_of(const std::vector<PolicyRuns>& results) {
  double last = 1;
  for (const PolicyRuns& result : results)
    for (const auto& run : result.runs) last = std::max(last, run.jobs.back().arrival);
  return last;
}

void write_data(std::FILE* out, const std::vector<PolicyRuns>& results) {
  constexpr std::size_t count = 150;
  const double width = span_of(results) / count;
  for (std::size_t r = 0; r < results.size(); ++r) {
    std::fprintf(out, "$over%zu << EOD\n", r);
    const auto bins = bins_of(results[r], width, count);
    for (std::size_t b = 0; b < count; ++b)
      if (bins[b].seconds > 0)
        std::fprintf(out, "%g %g %g %g %g\n", (static_cast<double>(b) + 0.5) * width,
                     bins[b].loss / bins[b].seconds, bins[b].cores[0] / bins[b].seconds,
                     bins[b].cores[1] / bins[b].seconds, bins[b].cores[2] / bins[b].seconds);
    std::fprintf(out, "EOD\n");
  }
  std::fprintf(out, "$bars << EOD\n");
  for (std::size_t i = 0; i < simulation::milestones.size(); ++i) {
    std::fprintf(out, "\"%s %%\"", milestone_name(i).c_str());
    for (const PolicyRuns& result : results) std::fprintf(out, " %g", result.summary.time_to[i]);
    std::fprintf(out, "\n");
  }
  std::fprintf(out, "EOD\n$shares << EOD\n");
  for (const PolicyRuns& result : results)
    std::fprintf(out, "\"%s\" %g %g %g\n", result.policy.c_str(), 100 * result.summary.share[0],
                 100 * result.summary.share[1], 100 * result.summary.share[2]);
  std::fprintf(out, "EOD\n");
}

void write_plot(std::FILE* out, const std::vector<PolicyRuns>& results, const std::string& file) {
  std::fprintf(out, "set terminal %s\nset output %s\n", terminal_for(file).c_str(), in_quotes(file).c_str());
  write_data(out, results);
  std::fprintf(out, "set multiplot layout 2,2\nset grid\nset key top right\n");
  std::fprintf(
      out,
      "set title 'Mean normalised loss of the jobs in the cluster'\nset xlabel 's'\nset yrange [0:*]\nplot ");
  for (std::size_t r = 0; r < results.size(); ++r)
    std::fprintf(out, "%s$over%zu using 1:2 with lines lw 2 title %s", r ? ", " : "", r,
                 in_quotes(results[r].policy).c_str());
  std::fprintf(out, "\nset title 'Cores held by the quarter of jobs with the highest loss'\nplot ");
  for (std::size_t r = 0; r < results.size(); ++r)
    std::fprintf(out, "%s$over%zu using 1:3 with lines lw 2 title %s", r ? ", " : "", r,
                 in_quotes(results[r].policy).c_str());
  std::fprintf(out,
               "\nset title 'Mean time to a share of the loss reduction (s)'\nset xlabel ''\nset style data "
               "histograms\nset style fill solid 0.7\nset key top left\nplot ");
  for (std::size_t r = 0; r < results.size(); ++r)
    std::fprintf(out, "%s$bars using %zu%s title %s", r ? ", " : "", r + 2, r ? "" : ":xtic(1)",
                 in_quotes(results[r].policy).c_str());
  std::fprintf(
      out,
      "\nset key below\nset title 'Share of cores by loss of the job (%%)'\nset style histogram "
      "rowstacked\nset boxwidth "
      "0.6\nset yrange [0:100]\nplot $shares using 2:xtic(1) title 'highest quarter', '' using 3 title "
      "'next quarter', '' using 4 title 'lower half'\nunset multiplot\n");
}

}  // namespace

void print_table(const std::vector<PolicyRuns>& results, std::FILE* out) {
  std::fprintf(out, "%-7s %7s %7s %7s %7s %7s %7s  %9s %8s %8s  %-11s %7s %6s %5s %9s\n", "policy", "t25",
               "t50", "t75", "t90", "t95", "t99", "norm.loss", "finish", "p99", "share 25/25", "moves",
               "util", "jain", "decision");
  for (const PolicyRuns& result : results) {
    const Summary& s = result.summary;
    std::fprintf(out, "%-7s", result.policy.c_str());
    for (double time : s.time_to) std::fprintf(out, " %7.1f", time);
    std::fprintf(out, "  %9.4f %8.1f %8.1f  %2.0f/%2.0f/%2.0f    %7.0f %5.1f%% %5.2f %6.3f ms\n",
                 s.mean_norm_loss, s.mean_finish, s.p99_finish, 100 * s.share[0], 100 * s.share[1],
                 100 * s.share[2], s.moves, 100 * s.utilisation, s.jain, s.decision_median_ms);
  }
  if (results.size() < 2) return;
  const Summary& base = results.front().summary;
  std::fprintf(out, "\nAgainst %s (time saved, percent; negative is later)\n",
               results.front().policy.c_str());
  const auto saved = [](double mine, double theirs) { return theirs > 0 ? 100 * (1 - mine / theirs) : 0; };
  for (std::size_t r = 1; r < results.size(); ++r) {
    const Summary& s = results[r].summary;
    std::fprintf(out, "%-7s", results[r].policy.c_str());
    for (std::size_t i = 0; i < s.time_to.size(); ++i)
      std::fprintf(out, " %+7.1f", saved(s.time_to[i], base.time_to[i]));
    std::fprintf(out, "  %+9.1f %+8.1f %+8.1f\n", saved(s.mean_norm_loss, base.mean_norm_loss),
                 saved(s.mean_finish, base.mean_finish), saved(s.p99_finish, base.p99_finish));
  }
}

std::string to_json(const std::vector<PolicyRuns>& results) {
  const wire::Json list(json_array());
  for (const PolicyRuns& result : results) json_array_append_new(list.get(), object_of(result));
  const std::unique_ptr<char, decltype(&free)> text(
      json_dumps(list.get(), JSON_INDENT(2) | JSON_REAL_PRECISION(8)), &free);
  if (!text) throw SimulateError("--json: a result is not finite");
  return text.get();
}

void check_plot_file(const std::string& file) {
  terminal_for(file);
  // gnuplot would draw on stdout instead
  if (!std::ofstream(file, std::ios::app))
    throw SimulateError("--plot " + file + ": cannot be written: " + std::strerror(errno));
}

void plot(const std::vector<PolicyRuns>& results, const std::string& file) {
  check_plot_file(file);
  const auto old = std::signal(SIGPIPE, SIG_IGN);
  std::FILE* out = popen("gnuplot", "w");
  if (!out) throw SimulateError(std::string("--plot: gnuplot can't be started: ") + std::strerror(errno));
  write_plot(out, results, file);
  const int status = pclose(out);
  std::signal(SIGPIPE, old);
  if (status != 0)
    throw SimulateError("--plot " + file + ": gnuplot failed (is it installed, is the folder writable?)");
}

}  // namespace mlq::cli
