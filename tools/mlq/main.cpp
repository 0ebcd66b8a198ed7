// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/commands.hpp"

int main(int argc, char** argv) {
  CLI::App app{"mlq: what Slurm knows of your training jobs, and why it ranks them so"};
  app.set_version_flag("--version", "mlq (slurm-ml-quality) 0.1.0");
  app.require_subcommand(1);
  mlq::cli::Context context;
  mlq::cli::add_balance(app, context);
  CLI11_PARSE(app, argc, argv);
  return context.exit_code;
}
