// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>

#include "core/wire/wire.hpp"
#include "tools/mlq/commands.hpp"
#include "tools/mlq/speed_trace.hpp"

namespace mlq::cli {
namespace {

struct BalanceOptions {
  std::string trace;
  std::vector<std::string> predictors, policies;
  std::uint64_t batch = 0, grain = 1, epoch = 100;
  std::size_t skip = 20;
  bool json = false, parsable = false;
};

struct Results {
  std::vector<double> rmse;
  std::vector<balance::PolicyReplay> replays;
};

Results replay(const BalanceOptions& options, const balance::SpeedTrace& trace) {
  Results results;
  if (options.skip >= trace.speeds.size())
    throw std::runtime_error("--skip: less than the " + std::to_string(trace.speeds.size()) +
                             " iterations of the trace is allowed, given was " +
                             std::to_string(options.skip));
  for (const auto& name : options.predictors)
    results.rmse.push_back(balance::prediction_rmse(trace, name, options.skip));
  balance::PolicyOptions policy{.global_batch = options.batch ? options.batch : 256 * trace.workers.size(),
                                .ranks = trace.workers.size(),
                                .grain = options.grain,
                                .epoch_iterations = options.epoch};
  if (policy.grain > policy.global_batch)
    throw std::runtime_error("--grain: at most the global batch, " + std::to_string(policy.global_batch) +
                             ", is allowed, given was " + std::to_string(policy.grain));
  for (const auto& name : options.policies)
    results.replays.push_back(balance::replay_policy(trace, name, policy));
  return results;
}

void print_json(const BalanceOptions& options, const balance::SpeedTrace& trace, const Results& results) {
  const wire::Json root(json_object());
  json_object_set_new(root.get(), "file", json_string(options.trace.c_str()));
  json_object_set_new(root.get(), "workers", json_integer(static_cast<json_int_t>(trace.workers.size())));
  json_object_set_new(root.get(), "iterations", json_integer(static_cast<json_int_t>(trace.speeds.size())));
  json_t* predictors = json_object();
  for (std::size_t i = 0; i < results.rmse.size(); ++i)
    json_object_set_new(predictors, options.predictors[i].c_str(),
                        json_pack("{s:o}", "rmse",
                                  std::isfinite(results.rmse[i]) ? json_real(results.rmse[i]) : json_null()));
  json_object_set_new(root.get(), "predictors", predictors);
  json_t* policies = json_object();
  for (std::size_t i = 0; i < results.replays.size(); ++i) {
    const auto& r = results.replays[i];
    json_object_set_new(policies, options.policies[i].c_str(),
                        json_pack("{s:f, s:f, s:I}", "time_vs_equal", r.time_vs_equal, "fraction_of_ceiling",
                                  r.fraction_of_ceiling, "changes", static_cast<json_int_t>(r.changes)));
  }
  json_object_set_new(root.get(), "policies", policies);
  const std::unique_ptr<char, decltype(&std::free)> text(json_dumps(root.get(), JSON_REAL_PRECISION(6)),
                                                         &std::free);
  std::puts(text.get());
}

void print_table(const BalanceOptions& options, const Results& results) {
  const char* predictor = options.parsable ? "%s|%.4f\n" : "%-10s %8.4f\n";
  const char* policy = options.parsable ? "%s|%.4f|%.4f|%llu\n" : "%-10s %13.4f %19.4f %8llu\n";
  if (!results.rmse.empty())
    std::fputs(options.parsable ? "predictor|rmse\n" : "predictor      rmse  (relative to the mean speed)\n",
               stdout);
  for (std::size_t i = 0; i < results.rmse.size(); ++i)
    std::printf(predictor, options.predictors[i].c_str(), results.rmse[i]);
  if (!results.replays.empty())
    std::fputs(options.parsable ? "policy|time_vs_equal|fraction_of_ceiling|changes\n"
                                : "policy     time_vs_equal fraction_of_ceiling  changes\n",
               stdout);
  for (std::size_t i = 0; i < results.replays.size(); ++i) {
    const auto& r = results.replays[i];
    std::printf(policy, options.policies[i].c_str(), r.time_vs_equal, r.fraction_of_ceiling,
                static_cast<unsigned long long>(r.changes));
  }
}

std::vector<std::string> strings(std::span<const std::string_view> names) {
  return {names.begin(), names.end()};
}

}  // namespace

void add_balance(CLI::App& app, Context& context) {
  auto options = std::make_shared<BalanceOptions>();
  auto* command = app.add_subcommand(
      "balance",
      "Replay recorded worker speeds: predictors' errors, and what balanced batches would have saved");
  auto predictors = strings(balance::speed_predictor_names());
  predictors.emplace_back("best");
  const auto policies = strings(balance::sizing_policy_names());
  options->predictors = predictors;
  options->policies = policies;
  command
      ->add_option("--trace", options->trace,
                   "CSV: worker, time, and batch_time, batch_time_norm or speed [, cpu, memory, stall]")
      ->required();
  command->add_option("--predictor", options->predictors, "Predictors to compare")
      ->delimiter(',')
      ->check(CLI::IsMember(predictors));
  command->add_option("--policy", options->policies, "Sizing policies to compare")
      ->delimiter(',')
      ->check(CLI::IsMember(policies));
  const auto count = CLI::Range(std::uint64_t{1}, std::uint64_t{1000000000000});
  command->add_option("--batch", options->batch, "Global batch in samples (default 256 a worker)")
      ->check(count);
  command->add_option("--grain", options->grain, "Batches are multiples of this")->check(count);
  command->add_option("--epoch", options->epoch, "Iterations of an epoch, for dbs")->check(count);
  command->add_option("--skip", options->skip, "Iterations at the start that the errors leave out")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1000000000000}));
  auto* json = command->add_flag("--json", options->json, "JSON on standard output");
  command->add_flag("-P,--parsable2", options->parsable, "Fields separated by |")->excludes(json);
  command->callback([options, &context] {
    try {
      const auto trace = read_speed_trace(options->trace);
      const Results results = replay(*options, trace);
      if (options->json)
        print_json(*options, trace, results);
      else
        print_table(*options, results);
    } catch (const std::exception& error) {
      std::cerr << "mlq: error: " << error.what() << '\n';
      context.exit_code = 1;
    }
  });
}

}  // namespace mlq::cli
