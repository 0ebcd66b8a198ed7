// SPDX-License-Identifier: GPL-2.0-or-later
// mlq simulate: policies against each other on the same jobs.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tools/mlq/commands.hpp"
#include "tools/mlq/simulate.hpp"
#include "tools/number_range.hpp"

namespace mlq::cli {

namespace {

struct Options {
  std::string traces, workload, plot, gaps = "poisson", equal_work = "iteration";
  std::vector<std::string> only, classes, policies{"fair", "slaq", "mlq"};
  simulation::DrawOptions draw;
  simulation::SimConfig config;
  PolicyOptions policy;
  std::uint32_t cores = 640, unit = 1;
  unsigned seeds = 1;
  bool json = false, quiet = false;
};

/// One line, redrawn in place; nothing when stderr is no terminal.
class ProgressBar {
 public:
  ProgressBar(bool shown, std::size_t runs) : shown_(shown), runs_(runs) {}
  ~ProgressBar() {
    if (shown_) std::fprintf(stderr, "\r\033[K");
  }
  void start(const std::string& what) { what_ = what, last_ = -1; }
  void show(double share) {
    const int percent =
        static_cast<int>(100 * (static_cast<double>(done_) + share) / static_cast<double>(runs_));
    if (!shown_ || percent == last_) return;
    last_ = percent;
    const int filled = percent * 40 / 100;
    std::fprintf(stderr, "\r[%.*s%.*s] %3d %% %s\033[K", filled, "########################################",
                 40 - filled, "                                        ", percent, what_.c_str());
    std::fflush(stderr);
  }
  void finish() { ++done_; }

 private:
  bool shown_;
  std::size_t runs_, done_ = 0;
  int last_ = -1;
  std::string what_;
};

std::string known_policies() {
  std::string names;
  for (std::string_view name : policy_names()) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

// CORESxSPEED, for example 320x1 320x0.5.
Pool parse_class(const std::string& text) {
  char rest = 0;
  unsigned cores = 0;
  double speed = 0;
  if (std::sscanf(text.c_str(), "%9ux%lf%c", &cores, &speed, &rest) != 2 || cores == 0 ||
      !(speed > 0 && speed <= 1000))
    throw SimulateError("--classes " + text +
                        ": must be CORESxSPEED, cores > 0, speed above 0 and at most 1000");
  return {cores, speed};
}

void set_pools(Options& options) {
  options.config.pools.clear();
  if (options.classes.empty()) options.config.pools.push_back({options.cores, 1});
  for (const std::string& text : options.classes) options.config.pools.push_back(parse_class(text));
  if (options.config.pools.size() > max_pools) throw SimulateError("--classes: at most 64 node classes");
  options.draw.cluster_cores = 0;
  double largest = 0;
  for (const Pool& pool : options.config.pools) {
    options.draw.cluster_cores += pool.capacity * pool.speed;
    largest = std::max<double>(largest, pool.capacity);
  }
  if (options.unit > largest)
    throw SimulateError("--unit " + std::to_string(options.unit) + ": no job could start, there are " +
                        std::to_string(static_cast<unsigned>(largest)) + " cores of a kind");
}

std::vector<simulation::SimJob> make_jobs(const Options& options,
                                          const std::vector<simulation::Trace>& traces,
                                          const Workload* workload, std::uint64_t seed) {
  simulation::DrawOptions draw = options.draw;
  draw.seed = seed;
  auto jobs = workload ? jobs_of_workload(workload->entries, workload->applications, traces, draw)
                       : draw_jobs(traces, draw);
  if (workload && jobs.size() > options.draw.jobs) jobs.resize(options.draw.jobs);
  for (auto& job : jobs) job.unit = options.unit;
  if (jobs.empty()) throw SimulateError("there is no job to simulate");
  return jobs;
}

std::vector<PolicyRuns> run_all(Options& options) {
  set_pools(options);
  options.draw.gaps = options.gaps == "poisson" ? simulation::Gaps::poisson : simulation::Gaps::exponential;
  options.draw.equal_work = options.equal_work == "iteration" ? simulation::EqualWork::per_iteration
                                                              : simulation::EqualWork::per_job;
  std::size_t skipped = 0;
  const auto traces = load_traces(options.traces, options.only, skipped);
  std::unique_ptr<Workload> workload;
  if (!options.workload.empty())
    workload = std::make_unique<Workload>(load_workload(options.workload, traces));

  ProgressBar bar(!options.quiet && isatty(STDERR_FILENO), options.policies.size() * options.seeds);
  simulation::Hooks hooks;
  hooks.progress = [&](double share) { bar.show(share); };
  hooks.clock = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  std::vector<PolicyRuns> results;
  for (const std::string& name : options.policies) results.push_back({name, {}, {}});
  for (unsigned s = 0; s < options.seeds; ++s) {
    const auto jobs = make_jobs(options, traces, workload.get(), options.draw.seed + s);
    options.config.seed = options.draw.seed + s;
    for (PolicyRuns& result : results) {
      const auto policy = make_policy(result.policy, options.policy);
      bar.start(result.policy + ", seed " + std::to_string(options.config.seed));
      result.runs.push_back(simulate(options.config, jobs, traces, *policy, hooks));
      bar.finish();
    }
  }
  for (PolicyRuns& result : results) {
    std::vector<simulation::Summary> summaries;
    for (const auto& run : result.runs) summaries.push_back(summarise(run));
    result.summary = simulation::mean_of(summaries);
  }
  return results;
}

void add_workload_options(CLI::App& command, Options& o) {
  const auto positive = number_range(1e-9, 1e12);
  const auto not_negative = number_range(0.0, 1e12);
  command.add_option("--traces", o.traces, "Folder of loss curves, CSV files with the header step,loss")
      ->required()
      ->check(CLI::ExistingDirectory);
  command.add_option("--only", o.only, "Names of curves to draw from, without .csv")->delimiter(',');
  command
      .add_option("--workload", o.workload,
                  "Jobs from this file: name,time,application,num_replicas,batch_size")
      ->check(CLI::ExistingFile);
  command.add_option("--jobs", o.draw.jobs, "Number of jobs")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command.add_option("--cores", o.cores, "Cores of the cluster")
      ->check(CLI::Range(1, 100000000))
      ->capture_default_str();
  command.add_option("--classes", o.classes, "Node classes instead: CORESxSPEED,…")->delimiter(',');
  command.add_option("--arrival-mean", o.draw.arrival_mean, "Mean seconds between arrivals")
      ->check(positive)
      ->capture_default_str();
  command
      .add_option("--gaps", o.gaps,
                  "Law of the gaps between arrivals: poisson (whole seconds) or exponential")
      ->check(CLI::IsMember({"poisson", "exponential"}))
      ->capture_default_str();
  command.add_option("--max-cores-per-job", o.draw.max_cores, "Most cores that a job can use")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command.add_option("--unit", o.unit, "Cores that are given together")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command
      .add_option(
          "--load", o.draw.load,
          "Work that arrives over work that the cluster can do meanwhile; 0 with --workload: as it is")
      ->check(number_range(0.0, 100.0))
      ->capture_default_str();
  command.add_option("--sizes", o.draw.sizes, "Sizes of data sets, drawn alike")
      ->delimiter(',')
      ->check(positive);
  command.add_option("--equal-work", o.equal_work, "What costs the same for every curve: iteration or job")
      ->check(CLI::IsMember({"iteration", "job"}))
      ->capture_default_str();
  command.add_option("--serial", o.draw.serial, "Share of an iteration that no core speeds up")
      ->check(number_range(0.0, 0.99))
      ->capture_default_str();
  command.add_option("--noise", o.draw.noise, "Relative standard deviation of the reported losses")
      ->check(number_range(0.0, 10.0))
      ->capture_default_str();
  command.add_option("--iterations", o.draw.says_iterations, "Share of jobs that state their iterations")
      ->check(number_range(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--report-delay", o.config.report_delay, "Seconds until a loss is known")
      ->check(not_negative)
      ->capture_default_str();
  command.add_option("--failures", o.config.failures, "Mean seconds between node failures, 0: none")
      ->check(not_negative)
      ->capture_default_str();
  command.add_option("--node-cores", o.config.node_cores, "Cores that fail together")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command.add_option("--repair", o.config.repair, "Seconds until a failed node is back")
      ->check(not_negative)
      ->capture_default_str();
}

void add_policy_options(CLI::App& command, Options& o) {
  const auto positive = number_range(1e-9, 1e12);
  const auto not_negative = number_range(0.0, 1e12);
  command.add_option("--policy", o.policies, "Policies to run on the same jobs: " + known_policies())
      ->delimiter(',')
      ->check([](const std::string& name) {
        return make_policy(name) ? std::string()
                                 : "there is no policy " + name + ", only " + known_policies();
      })
      ->capture_default_str();
  command.add_option("--seed", o.draw.seed, "Seed of jobs, noise and failures")->capture_default_str();
  command.add_option("--seeds", o.seeds, "Number of seeds, from --seed on; figures are means")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_option("--interval", o.config.interval, "Seconds between decisions")
      ->check(positive)
      ->capture_default_str();
  command.add_option("--move-cost", o.config.move_cost, "Seconds without progress when a job's size changes")
      ->check(not_negative)
      ->capture_default_str();
  command.add_option("--dwell", o.policy.settle.dwell, "Seconds that mlq leaves a job's size alone")
      ->check(not_negative)
      ->capture_default_str();
  command.add_option("--horizon", o.policy.settle.horizon, "Seconds over which a move must pay")
      ->check(positive)
      ->capture_default_str();
  command.add_option("--margin", o.policy.settle.margin, "By how much a move's gain must exceed its cost")
      ->check(not_negative)
      ->capture_default_str();
  command.add_option("--tail", o.policy.tail, "Worth of finishing a job, beside 1 for reaching its target")
      ->check(not_negative)
      ->capture_default_str();
  command
      .add_option(
          "--tail-age-power", o.policy.tail_age_power,
          "How much of the tail goes by age: 0 none, 1 nearly first come, first served; 0.35 more where "
          "the end is not known")
      ->check(number_range(0.0, 10.0))
      ->capture_default_str();
  command
      .add_option("--slack", o.policy.slack,
                  "mlq: a job is overdue when it ends later than under equal shares by this part of its work")
      ->check(not_negative)
      ->capture_default_str();
  command
      .add_option(
          "--grace", o.policy.grace,
          "… and by so many times the time that jobs stay in the cluster, half as much again where its end "
          "is not known")
      ->check(not_negative)
      ->capture_default_str();
  command.add_flag("--families", o.config.learn_families,
                   "Expect of a job the iterations of earlier ones of its curve");
  command.add_flag("--json", o.json, "Print the results as JSON");
  command.add_option("--plot", o.plot, "Draw the results into this file (.png, .svg, .pdf)");
  command.add_flag("--quiet", o.quiet, "No progress bar");
}

}  // namespace

void add_simulate(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("simulate", "Run policies against each other on recorded loss curves");
  add_workload_options(*command, *options);
  add_policy_options(*command, *options);
  command->callback([options, &context] {
    try {
      if (!options->plot.empty()) check_plot_file(options->plot);
      const auto results = run_all(*options);
      if (options->json) {
        std::puts(to_json(results).c_str());
      } else {
        print_table(results, stdout);
      }
      if (!options->plot.empty()) plot(results, options->plot);
    } catch (const SimulateError& error) {
      std::fprintf(stderr, "mlq: error: %s\n", error.what());
      context.exit_code = 1;
    }
  });
}

}  // namespace mlq::cli
