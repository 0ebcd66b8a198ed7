// SPDX-License-Identifier: GPL-2.0-or-later
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "mlq_build.h"
#include "tools/mlq/commands.hpp"
#include "tools/mlq/format.hpp"

namespace {

/// A full disk behind a redirection must not look like success.
int written(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  std::fprintf(stderr, "mlq: error: standard output cannot be written: %s\n", std::strerror(errno));
  return exit_code == 0 ? 1 : exit_code;
}

std::string command_names(const CLI::App& app) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands(nullptr))
    names += (names.empty() ? "" : ", ") + command->get_name();
  return names;
}

/// CLI11 says neither which word it did not understand nor what there is.
std::string no_command(const CLI::App& app, const char* given) {
  return (given ? "there is no command \"" + mlq::cli::printable(given) + "\"" : "a command is needed") +
         ": " + command_names(app) + "; mlq --help says more";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"mlq: what Slurm knows of your training jobs, and why it ranks them so"};
  app.set_version_flag("--version", "mlq (slurm-ml-quality) " PACKAGE_VERSION);
  app.require_subcommand(1);
  mlq::cli::Context context;
  mlq::cli::add_status(app, context);
  mlq::cli::add_explain(app, context);
  mlq::cli::add_report(app, context);
  mlq::cli::add_top(app, context);
  mlq::cli::add_watch(app, context);
  mlq::cli::add_run(app, context);
  mlq::cli::add_balance(app, context);
  mlq::cli::add_fit(app, context);
  mlq::cli::add_simulate(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return written(app.exit(error));  // --help, --version
    const std::string text = app.get_subcommands().empty() ? no_command(app, argv[1]) : error.what();
    std::fprintf(stderr, "mlq: error: %s\n", text.c_str());
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mlq: error: %s\n", error.what());
    return 1;
  }
  return written(context.exit_code);
}
