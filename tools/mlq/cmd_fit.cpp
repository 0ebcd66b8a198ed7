// SPDX-License-Identifier: GPL-2.0-or-later
// mlq fit: the predictor of the scheduler on a file.
#include <jansson.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/quality/curve.hpp"
#include "tools/mlq/commands.hpp"
#include "tools/mlq/curve_file.hpp"
#include "tools/mlq/curve_plot.hpp"

namespace mlq::cli {
namespace {

constexpr std::size_t kFirstRolling = 4;  // the fifth point: no prediction needs fewer

struct FitOptions {
  std::vector<std::string> files;
  CurveColumns columns;
  std::vector<std::size_t> at;
  std::string goal = "min", plot;
  unsigned horizon = 10;
  bool rolling = false, json = false, ascii = false;
};

struct Origin {
  std::size_t index = 0;
  double step = 0;
  Forecast forecast;
  PlotFuture future;
};

std::vector<std::size_t> origins_of(const FitOptions& options, std::size_t rows) {
  std::vector<std::size_t> out = options.at;
  for (const std::size_t index : out)
    if (index >= rows)
      throw CurveFileError("has no point " + std::to_string(index) + " for --at: its points are 0 to " +
                           std::to_string(rows - 1));
  if (options.rolling)
    for (std::size_t i = std::min(kFirstRolling, rows - 1); i < rows; ++i) out.push_back(i);
  if (out.empty()) out.push_back(rows - 1);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

PlotFuture future_of(const LossCurve& curve, double iterations) {
  PlotFuture out;
  constexpr int kPieces = 20;
  for (int i = 0; i <= kPieces; ++i) {
    const double ahead = iterations * i / kPieces;
    const Forecast f = curve.forecast(ahead);
    out.push_back({curve.last_iteration() + ahead, f.predicted, f.lower, f.upper});
  }
  return out;
}

std::vector<Origin> fit(const FitOptions& options, const std::vector<CurveRow>& rows) {
  const std::vector<std::size_t> wanted = origins_of(options, rows.size());
  CurveOptions curve_options;
  curve_options.goal = options.goal == "max" ? Goal::max : Goal::min;
  LossCurve curve(curve_options);
  std::vector<Origin> out;
  std::size_t next = 0;
  for (const std::size_t index : wanted) {
    for (; next <= index; ++next)
      if (!curve.add({rows[next].step, rows[next].loss, 0, 0}))
        throw CurveFileError("point " + std::to_string(next) + ": the step is not a usable number");
    curve.refit();
    const double iterations = options.horizon * curve.spacing();
    Origin origin{index, rows[index].step, curve.forecast(iterations), {}};
    if (!options.plot.empty() || options.ascii) origin.future = future_of(curve, iterations);
    out.push_back(std::move(origin));
  }
  return out;
}

// A file name need not be UTF-8; what is not becomes '?'.
json_t* json_text(std::string text) {
  json_t* value = json_string(text.c_str());
  if (value != nullptr) return value;
  for (char& c : text)
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  return json_string(text.c_str());
}

void print_json(const std::string& file, const std::vector<Origin>& origins) {
  json_t* list = json_array();
  for (const Origin& o : origins)
    json_array_append_new(
        list, json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:s, s:s}", "index", static_cast<json_int_t>(o.index),
                        "step", o.step, "now", o.forecast.now, "predicted", o.forecast.predicted, "lower",
                        o.forecast.lower, "upper", o.forecast.upper, "model", o.forecast.model, "verdict",
                        std::string(to_string(o.forecast.verdict)).c_str()));
  json_t* root = json_pack("{s:o, s:o}", "file", json_text(file), "origins", list);
  char* text = json_dumps(root, JSON_COMPACT | JSON_PRESERVE_ORDER);
  if (text != nullptr) std::puts(text);
  std::free(text);
  json_decref(root);
}

void print_table(const std::string& file, const FitOptions& options, const std::vector<Origin>& origins) {
  std::printf("%s, %u points ahead\n", printable(file).c_str(), options.horizon);
  std::printf("%8s %12s %12s %12s %26s  %-12s %s\n", "point", "step", "now", "predicted", "80 % interval",
              "verdict", "model");
  for (const Origin& o : origins) {
    char interval[64];
    std::snprintf(interval, sizeof interval, "[%.5g, %.5g]", o.forecast.lower, o.forecast.upper);
    std::printf("%8zu %12.10g %12.6g %12.6g %26s  %-12s %s\n", o.index, o.step, o.forecast.now,
                o.forecast.predicted, interval, std::string(to_string(o.forecast.verdict)).c_str(),
                o.forecast.model);
  }
}

// False, with one line on stderr, when the file could not be done.
bool fit_file(const FitOptions& options, const std::string& file) {
  std::string trouble;
  try {
    const std::vector<CurveRow> rows = read_curve(file, options.columns);
    const std::vector<Origin> origins = fit(options, rows);
    if (options.json)
      print_json(file, origins);
    else if (!options.ascii)
      print_table(file, options, origins);
    std::vector<PlotFuture> futures;
    for (const Origin& o : origins) futures.push_back(o.future);
    if (!options.plot.empty()) trouble = plot_curve(file, rows, futures, options.plot);
    if (options.ascii) trouble = plot_curve(file, rows, futures, {});
  } catch (const std::exception& error) {
    trouble = error.what();
  }
  if (trouble.empty()) return true;
  std::fflush(stdout);
  std::fprintf(stderr, "mlq: error: %s: %s\n", printable(file).c_str(), trouble.c_str());
  return false;
}

}  // namespace

void add_fit(CLI::App& app, Context& context) {
  auto options = std::make_shared<FitOptions>();
  CLI::App* fit = app.add_subcommand("fit", "Predict how the losses in files go on");
  fit->add_option("files", options->files, "CSV, JSON lines or trainer_state.json")
      ->required()
      ->type_name("FILE");
  fit->add_option("--horizon", options->horizon, "points ahead")
      ->check(CLI::Range(1U, 1000000U))
      ->capture_default_str();
  CLI::Option* at =
      fit->add_option("--at", options->at, "predict from these points, counted from 0")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->check(CLI::Validator(
              [](std::string& text) {
                const bool digits = !text.empty() && text.size() <= 12 &&
                                    text.find_first_not_of("0123456789") == std::string::npos;
                return digits ? std::string{} : "'" + text + "' is not the number of a point (0, 1, ...)";
              },
              ""))
          ->type_name("I,J,...");
  fit->add_flag("--rolling", options->rolling, "predict from every point on from the fifth")->excludes(at);
  fit->add_option("--step", options->columns.step, "column or key of the step");
  fit->add_option("--loss", options->columns.loss, "column or key of the loss");
  fit->add_option("--goal", options->goal, "max for a metric that should rise")
      ->check(CLI::IsMember({"min", "max"}))
      ->capture_default_str();
  CLI::Option* json = fit->add_flag("--json", options->json, "one JSON object a line and file");
  fit->add_option("--plot", options->plot, "draw into this PNG file, with gnuplot")->type_name("FILE.png");
  fit->add_flag("--ascii", options->ascii, "draw on the terminal, with gnuplot")->excludes(json);
  fit->callback([options, &context] {
    if (!options->plot.empty() && options->files.size() > 1)
      throw CLI::ValidationError("--plot", "draws one file, given " + std::to_string(options->files.size()));
    for (const std::string& file : options->files)
      if (!fit_file(*options, file)) context.exit_code = 1;
  });
}

}  // namespace mlq::cli
