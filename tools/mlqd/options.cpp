// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlqd/options.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string_view>

#include "mlq_build.h"
#include "tools/number_range.hpp"

namespace mlq::mlqd {
namespace {

void add_places(CLI::App& app, Options& o) {
  app.add_option("--listen", o.listen, "ADDRESS:PORT where jobs report by TCP, or off")
      ->capture_default_str();
  app.add_option("--socket", o.socket, "Unix socket of the scheduler, admins and mlq")->capture_default_str();
  app.add_option("--store", o.store, "SQLite file")->capture_default_str();
  app.add_option("--key", o.key, "file with the site's key, as on every node")->capture_default_str();
  app.add_option("--accept-key", o.accept_keys,
                 "older key that is still accepted; may be given several times")
      ->allow_extra_args(false);
}

void add_access(CLI::App& app, Options& o) {
  app.add_option("--cluster", o.clusters, "take tokens of this cluster only; may be given several times")
      ->allow_extra_args(false);
  app.add_option(
         "--admin-user", o.admin_users,
         "user, by name or uid, who may do by the socket what the scheduler may; may be given several times")
      ->allow_extra_args(false);
  app.add_flag("--public-status", o.public_status, "answer /v1/jobs by TCP to anybody");
}

void add_limits(CLI::App& app, Options& o) {
  app.add_option("--keep-days", o.keep_days, "remove jobs that nobody wrote for this long")
      ->check(number_range(0.01, 36500.0))
      ->capture_default_str();
  app.add_option("--max-size", o.max_size, "of the store: above it the oldest ended jobs go; 4GB, 500MB, ...")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{1} << 20, std::uint64_t{1} << 50))
      ->default_str("4GB");
  app.add_option("--rate", o.rate, "losses a second that one job may report")
      ->check(number_range(0.1, 1e9))
      ->capture_default_str();
  app.add_option("--burst", o.burst, "losses that one job may report at once")
      ->check(number_range(1.0, 1e9))
      ->capture_default_str();
  app.add_option("--request-rate", o.request_rate, "requests a second of one job, user or address")
      ->check(number_range(0.1, 1e9))
      ->capture_default_str();
  app.add_option("--request-burst", o.request_burst, "requests that one of them may make at once")
      ->check(number_range(1.0, 1e9))
      ->capture_default_str();
  app.add_option("--poll-rate", o.poll_rate,
                 "questions a second of all agents for their targets; more agents are told to ask less often")
      ->check(number_range(1.0, 1e9))
      ->capture_default_str();
  app.add_option("--max-body", o.max_body, "of a report")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{1024}, std::uint64_t{16} << 20))
      ->default_str("1MB");
  app.add_option("--connections", o.connections,
                 "open connections by TCP; idle ones go when three quarters are used")
      ->check(CLI::Range(16u, 1000000u))
      ->capture_default_str();
  app.add_option("--idle-timeout", o.idle_timeout, "seconds after which a silent connection is closed")
      ->check(CLI::Range(1u, 86400u))
      ->capture_default_str();
  app.add_option("--threads", o.threads, "threads of each listener")
      ->check(CLI::Range(1u, 256u))
      ->capture_default_str();
}

/// CLI11 calls every configuration file INI, and does not say that the name is what is wrong.
std::string reason(const CLI::ParseError& error) {
  constexpr std::string_view kUnknown = "INI was not able to parse ";
  const std::string text = error.what();
  return text.starts_with(kUnknown)
             ? "--config: there is no option \"" + text.substr(kUnknown.size()) + "\" that a file may set"
             : text;
}

}  // namespace

Options parse_options(int argc, char** argv, int& exit_code) {
  Options options;
  CLI::App app(
      "mlqd takes in the losses that training jobs report and gives them to the scheduler and to mlq.",
      "mlqd");
  app.set_version_flag("--version", PACKAGE_VERSION);
  app.set_config("--config", "", "file with these options, without the dashes: key = value");
  app.allow_config_extras(false);
  add_places(app, options);
  add_access(app, options);
  add_limits(app, options);
  app.add_flag("--verbose", options.verbose, "log more");
  app.add_option("--make-key", options.make_key, "write a new random key to this file, and end");
  exit_code = -1;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    exit_code = error.get_exit_code() == 0 ? app.exit(error) : 2;
    if (exit_code != 0) std::fprintf(stderr, "mlqd: error: %s; see mlqd --help\n", reason(error).c_str());
  }
  return options;
}

}  // namespace mlq::mlqd
