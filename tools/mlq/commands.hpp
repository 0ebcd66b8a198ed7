// SPDX-License-Identifier: GPL-2.0-or-later
// Every subcommand of mlq registers itself with CLI11 here; its callback returns by setting `exit_code`.
#pragma once

#include <CLI/CLI.hpp>

namespace mlq::cli {

struct Context {
  int exit_code = 0;
};

void add_status(CLI::App& app, Context& context);
void add_explain(CLI::App& app, Context& context);
void add_report(CLI::App& app, Context& context);
void add_top(CLI::App& app, Context& context);
void add_watch(CLI::App& app, Context& context);
void add_fit(CLI::App& app, Context& context);
void add_simulate(CLI::App& app, Context& context);
void add_balance(CLI::App& app, Context& context);
void add_run(CLI::App& app, Context& context);

}  // namespace mlq::cli
