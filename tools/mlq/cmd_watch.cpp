// SPDX-License-Identifier: GPL-2.0-or-later
// mlq watch: reports the losses that an unchanged script writes.
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>

#include "tools/client/mlq.h"
#include "tools/mlq/commands.hpp"
#include "tools/mlq/error.hpp"
#include "tools/mlq/format.hpp"
#include "tools/mlq/log_line.hpp"
#include "tools/mlq/log_tail.hpp"
#include "tools/mlq/session.hpp"

namespace mlq::cli {
namespace {

struct WatchOptions {
  std::vector<std::string> files;
  LogOptions log;
  pid_t pid = 0;
  bool only_new = false, dry_run = false;
};

constexpr int kLookMs = 500;
volatile std::sig_atomic_t interrupted = 0;

extern "C" void interrupt(int) {
  interrupted = 1;
}

class Reporter {
 public:
  explicit Reporter(bool dry_run) : job_(dry_run ? nullptr : mlq_attach()), dry_run_(dry_run) {
    if (!dry_run_ && !mlq_active(job_))
      std::fputs("mlq: warning: not inside a job of --ml-quality: nothing is reported\n", stderr);
  }
  ~Reporter() { mlq_detach(job_); }
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  void take(LogReader& reader, const std::string& line) {
    const auto report = reader.take(line);
    if (!report) return;
    if (dry_run_) {
      std::printf("%.15g %.15g\n", report->iteration, report->loss);
      std::fflush(stdout);
    }
    mlq_report(job_, report->iteration, report->loss);
  }

 private:
  mlq_job* job_;
  bool dry_run_;
};

struct WatchedFile {
  LogTail tail;
  LogReader reader;
};

/// Readable once the process has ended, whether or not anybody has waited for it.
int watch_process(pid_t pid) {
  const int file = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (file < 0 && errno != ESRCH)
    throw Error("--pid " + std::to_string(pid) + ": cannot be watched: " + std::strerror(errno));
  return file;
}

void read_files(std::vector<WatchedFile>& files, Reporter& reporter) {
  for (WatchedFile& file : files)
    for (const std::string& line : file.tail.read_lines()) reporter.take(file.reader, line);
}

void watch_files(const WatchOptions& options, Reporter& reporter) {
  std::vector<WatchedFile> files;
  for (const std::string& name : options.files)
    files.push_back(
        {LogTail(name, options.only_new ? TailFrom::end : TailFrom::beginning), LogReader(options.log)});
  pollfd process{options.pid ? watch_process(options.pid) : -1, POLLIN, 0};
  bool ended = options.pid && process.fd < 0;
  while (!ended && !interrupted) {
    read_files(files, reporter);
    ended = poll(&process, 1, kLookMs) > 0;
  }
  read_files(files, reporter);
  for (WatchedFile& file : files) reporter.take(file.reader, file.tail.rest());
  if (process.fd >= 0) close(process.fd);
}

bool write_all(const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t done = write(STDOUT_FILENO, data, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    data += done;
    size -= static_cast<std::size_t>(done);
  }
  return true;
}

/// Hands stdin on to stdout, and reads it on the way. False when some of it could not be written.
bool watch_stdin(const WatchOptions& options, Reporter& reporter) {
  LogReader reader(options.log);
  std::string buffer;
  std::array<char, 65536> chunk;
  bool passing = !options.dry_run, whole = true;
  for (;;) {
    const ssize_t got = read(STDIN_FILENO, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;  // the writer ends first, and then we do
    if (got <= 0) break;
    if (passing && !write_all(chunk.data(), static_cast<std::size_t>(got))) {
      // neither a reader that went away nor a full disk stops the training; a disk may have room again
      passing = errno != EPIPE;
      if (passing && whole)
        std::fprintf(stderr, "mlq: error: standard output cannot be written: %s\n", std::strerror(errno));
      whole = whole && !passing;
    }
    buffer.append(chunk.data(), static_cast<std::size_t>(got));
    for (const std::string& line : cut_lines(buffer)) reporter.take(reader, line);
  }
  reporter.take(reader, buffer);
  return whole;
}

/// One that does not exist yet may come.
void check_files(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    struct stat facts {};
    if (name == "-") throw Error("\"-\" for stdin cannot be watched together with files");
    if (stat(name.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode))
      throw Error(printable(name) + " is " + (S_ISDIR(facts.st_mode) ? "a folder" : "no regular file") +
                  ": a log file is needed, or \"-\" for stdin");
  }
}

bool watch(const WatchOptions& options) {
  const bool from_stdin = options.files == std::vector<std::string>{"-"};
  if (!from_stdin) check_files(options.files);
  LogReader checked(options.log);  // a wrong pattern is an error before anything else
  struct sigaction action {};
  action.sa_handler = interrupt;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  Reporter reporter(options.dry_run);
  if (from_stdin) return watch_stdin(options, reporter);
  watch_files(options, reporter);
  return true;
}

}  // namespace

void add_watch(CLI::App& app, Context& context) {
  auto options = std::make_shared<WatchOptions>();
  CLI::App* command =
      app.add_subcommand("watch", "report the losses that an unchanged script writes to a log");
  command->add_option("FILE", options->files, "logs: CSV, JSON lines or text; \"-\" hands stdin on to stdout")
      ->required();
  command->add_option("--pid", options->pid, "end when this process has ended")
      ->check(CLI::Range(1, 1 << 30))
      ->type_name("PID");
  command->add_option("--step", options->log.step, "name of the column or member with the iteration");
  command->add_option("--loss", options->log.loss, "name of the column or member with the loss");
  command
      ->add_option("--pattern", options->log.pattern,
                   "extended regular expression: group 1 the iteration, 2 the loss; or 1 the loss alone")
      ->type_name("REGEX");
  command->add_flag("--new", options->only_new, "leave out what the files hold already");
  command->add_flag("--dry-run", options->dry_run, "print iteration and loss instead of reporting them");
  command->callback([options, &context] {
    bool whole = true;
    context.exit_code = run_command("watch", false, [&] { whole = watch(*options); });
    if (!whole) context.exit_code = 1;
  });
}

}  // namespace mlq::cli
