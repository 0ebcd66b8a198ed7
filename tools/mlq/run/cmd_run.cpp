// SPDX-License-Identifier: GPL-2.0-or-later
// mlq run: the agent of a job.
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "tools/mlq/commands.hpp"
#include "tools/mlq/error.hpp"
#include "tools/mlq/run/head.hpp"
#include "tools/mlq/run/member.hpp"
#include "tools/mlq/session.hpp"
#include "tools/number_range.hpp"

namespace mlq::run {

int parse_signal(const std::string& text) {
  struct Name {
    const char* name;
    int number;
  };
  static constexpr std::array<Name, 7> kNames{{{"TERM", SIGTERM},
                                               {"INT", SIGINT},
                                               {"HUP", SIGHUP},
                                               {"USR1", SIGUSR1},
                                               {"USR2", SIGUSR2},
                                               {"CONT", SIGCONT},
                                               {"URG", SIGURG}}};
  const std::string bare = text.starts_with("SIG") ? text.substr(3) : text;
  if (bare.empty()) return 0;
  for (const Name& name : kNames)
    if (bare == name.name || bare == std::to_string(name.number)) return name.number;
  throw cli::Error("--resize-signal: TERM, INT, HUP, USR1, USR2, CONT or URG is allowed, given was \"" +
                   text + "\"");
}

namespace {

struct CommandLine {
  RunOptions run;
  std::string join, node_agent;
};

int run_as_asked(const CommandLine& line) {
  if (!line.join.empty()) return follow_head(line.join);
  // srun starts one on the batch host too, where the head has the workers
  const char* node = std::getenv("SLURM_NODEID");
  if (!line.node_agent.empty()) return node && std::strcmp(node, "0") == 0 ? 0 : follow_head(line.node_agent);
  if (line.run.command.empty())
    throw cli::Error("a command is needed: mlq run [options] -- command [argument...]");
  parse_signal(line.run.resize_signal);
  if (!line.run.dry_run) return run_head(line.run);
  show_plan(line.run);
  return 0;
}

}  // namespace
}  // namespace mlq::run

namespace mlq::cli {

void add_run(CLI::App& app, Context& context) {
  auto line = std::make_shared<run::CommandLine>();
  CLI::App* command = app.add_subcommand(
      "run", "start the ranks of a training and, where the job may be resized, go with its size");
  run::RunOptions& options = line->run;
  command
      ->add_option("--ranks", options.ranks,
                   "how many: unit = one per unit of the job, node = one per node, N = so many per node")
      ->capture_default_str()
      ->type_name("HOW");
  command->add_flag("--label", options.label, "put the rank before each line of output");
  command->add_option("--grace", options.grace, "seconds from SIGTERM to SIGKILL")
      ->check(number_range(0.0, 86400.0))
      ->capture_default_str()
      ->type_name("SECONDS");
  command
      ->add_option("--lead", options.lead,
                   "seconds that ranks which leave have to do so (default: the site's mlq_lead)")
      ->check(number_range(0.0, 86400.0))
      ->type_name("SECONDS");
  command->add_flag(
      "--restart", options.restart,
      "a training that goes on from its checkpoint: to resize, stop all ranks and start them anew");
  command
      ->add_option("--resize-signal", options.resize_signal,
                   "with --restart: this signal to all ranks first, SIGTERM after the lead time")
      ->type_name("SIGNAL");
  command->add_flag("--no-resize", options.no_resize, "keep the size, whatever the job was submitted with");
  command
      ->add_option("--start-limit", options.start_limit,
                   "seconds after which a companion that has not started is cancelled")
      ->check(number_range(1.0, 86400.0))
      ->capture_default_str()
      ->type_name("SECONDS");
  command
      ->add_option("--silence", options.silence,
                   "seconds without an answer of mlqd after which companions are given back")
      ->check(number_range(1.0, 86400.0))
      ->capture_default_str()
      ->type_name("SECONDS");
  command->add_option("--address", options.address, "of this host for the other nodes (default: of its name)")
      ->type_name("HOST");
  command->add_flag("-q,--quiet", options.quiet, "say nothing of moves and failures on stderr");
  command->add_flag("--dry-run", options.dry_run, "print what would be done");
  command->add_option("--join", line->join, "")->group("");
  command->add_option("--node-agent", line->node_agent, "")->group("");
  command->add_option("COMMAND", options.command, "what each rank runs, after --");
  command->positionals_at_end();
  command->callback([line, &context] {
    const int code = run_command("run", false, [&] { context.exit_code = run::run_as_asked(*line); });
    if (code != 0) context.exit_code = code;
  });
}

}  // namespace mlq::cli
