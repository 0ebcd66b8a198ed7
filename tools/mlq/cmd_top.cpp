// SPDX-License-Identifier: GPL-2.0-or-later
// mlq top: the table of mlq status, again and again in one place.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <thread>

#include "tools/mlq/commands.hpp"
#include "tools/mlq/error.hpp"
#include "tools/mlq/format.hpp"
#include "tools/mlq/job_table.hpp"
#include "tools/mlq/session.hpp"
#include "tools/number_range.hpp"

namespace mlq::cli {
namespace {

struct TopOptions {
  PlaceOptions place;
  FilterOptions filter;
  std::string format = kDefaultFormat;
  double interval = 3;
  unsigned count = 0;
};

constexpr char kHideCursor[] = "\033[?25l\033[2J";
constexpr char kShowCursor[] = "\033[?7h\033[?25h\n";

extern "C" void leave_screen(int) {
  [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, kShowCursor, sizeof kShowCursor - 1);
  _exit(0);
}

std::string headline(const Answer& answer) {
  const auto in_state = [&](const char* state) {
    return std::to_string(std::count_if(answer.jobs.begin(), answer.jobs.end(),
                                        [&](const JobView& job) { return job.state == state; }));
  };
  std::string line = timestamp(answer.now) + "  cluster " + printable(answer.cluster) + "  " +
                     in_state("RUNNING") + " running, " + in_state("PENDING") + " pending";
  if (answer.cycle.time)
    line += "  scheduler heard of " + duration(std::max(0.0, answer.now - *answer.cycle.time)) + " ago";
  if (!answer.cycle.mode.empty()) line += "  mode " + printable(answer.cycle.mode);
  return line;
}

/// What fits on the screen, in place of what was there.
void redraw(std::vector<std::string> lines) {
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 2;
  if (known && lines.size() >= size.ws_row) {
    const std::size_t left = lines.size() - size.ws_row + 2;
    lines.resize(size.ws_row - 2);
    lines.push_back("… " + std::to_string(left) + " more lines");
  }
  // long lines are cut by the terminal, not wrapped
  std::string screen = "\033[H\033[?7l";
  for (const std::string& line : lines) screen += line + "\033[K\n";
  screen += "\033[?7h\033[J";
  std::fwrite(screen.data(), 1, screen.size(), stdout);
  std::fflush(stdout);
}

std::vector<std::string> look(const TopOptions& options, const Place& place,
                              const std::vector<ShownColumn>& columns, TableStyle style) {
  const Answer answer = ask_jobs(place, options.filter);
  std::vector<std::string> lines{headline(answer)};
  for (const std::string& warning : answer.warnings) lines.push_back("warning: " + warning);
  lines.emplace_back();
  for (std::string& line : format_table(answer.jobs, columns, answer.now, style, Header::shown))
    lines.push_back(std::move(line));
  return lines;
}

void show_top(const TopOptions& options) {
  const std::vector<ShownColumn> columns = parse_format(options.format);
  const Place place = find_collector(options.place.url, options.place.cluster);
  const bool in_place = isatty(STDOUT_FILENO);
  const TableStyle style = colours_wanted() ? TableStyle::coloured : TableStyle::aligned;
  std::vector<std::string> lines = look(options, place, columns, style);  // a wrong address ends it at once
  if (in_place) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, leave_screen);
    std::fputs(kHideCursor, stdout);
  }
  for (unsigned looks = 1;; ++looks) {
    if (in_place)
      redraw(lines);
    else
      for (const std::string& line : lines) std::puts(line.c_str());
    std::fflush(stdout);
    if (looks == options.count) break;
    std::this_thread::sleep_for(std::chrono::duration<double>(options.interval));
    try {
      lines = look(options, place, columns, style);
    } catch (const Error& error) {  // mlqd may be back at the next look
      lines = {std::string("error: ") + error.what()};
    }
  }
  if (in_place) std::fputs(kShowCursor, stdout);
}

}  // namespace

void add_top(CLI::App& app, Context& context) {
  auto options = std::make_shared<TopOptions>();
  CLI::App* command = app.add_subcommand("top", "the table of mlq status, redrawn in place");
  add_filter_options(*command, options->filter);
  command->add_option("-o,--format", options->format, "FIELD[:WIDTH],... as in mlq status")
      ->type_name("FIELDS");
  command->add_option("-i,--interval", options->interval, "seconds between two looks")
      ->check(number_range(0.5, 3600.0))
      ->capture_default_str();
  command->add_option("--count", options->count, "end after so many looks; 0 = when interrupted")
      ->capture_default_str();
  add_place_options(*command, options->place);
  command->callback(
      [options, &context] { context.exit_code = run_command("top", false, [&] { show_top(*options); }); });
}

}  // namespace mlq::cli
