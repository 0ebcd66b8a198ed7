/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The client library when a training forks, exits or takes signals. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/client_fixture.h"

/* They allow no new thread in the child of a process that has threads, or no memory from the heap there. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static const bool sanitizer = true;
#else
static const bool sanitizer = false;
#endif

/* The child is made before there is any thread, and is told the port when the server is there. */
static pid_t fork_reporter(int reports, int* tell) {
  int ends[2];
  uint16_t port;
  pid_t child;

  ck_assert_int_eq(pipe(ends), 0);
  child = fork();
  if (child == 0) {
    alarm(60);
    close(ends[1]);
    if (read(ends[0], &port, sizeof(port)) != sizeof(port)) _exit(1);
    use_port(port);
    report_many(mlq_attach(), 0, reports);
    exit(7);
  }
  close(ends[0]);
  *tell = ends[1];
  return child;
}

static void expect_exit(pid_t child, int tell, uint16_t port) {
  int status;

  ck_assert_int_eq(write(tell, &port, sizeof(port)), sizeof(port));
  close(tell);
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status));
  ck_assert_int_eq(WEXITSTATUS(status), 7);
}

START_TEST(test_exit_while_mlqd_is_silent) {
  int tell;
  pid_t child = fork_reporter(100, &tell);
  uint16_t port;
  int fd = silent_socket(&port);

  ck_assert_int_ge(fd, 0);
  expect_exit(child, tell, port);
  close(fd);
}
END_TEST

START_TEST(test_exit_flushes) {
  int tell;
  pid_t child = fork_reporter(5000, &tell);

  set_up();
  expect_exit(child, tell, report_server_port(server));
  ck_assert_uint_eq(report_server_count(server), 5000);
  tear_down();
}
END_TEST

START_TEST(test_fork) {
  mlq_job* job = mlq_attach();
  pid_t child;
  int status;

  mlq_report(job, 0, 1);
  ck_assert_int_eq(mlq_flush(job, 30), 0);
  child = fork();
  if (child == 0) {
    int ok = !mlq_active(job);

    report_many(job, 100, 200);
    ok = ok && mlq_flush(job, 5) == 0;
    mlq_detach(job);
    exit(ok ? 0 : 1); /* atexit runs in the child too */
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  mlq_report(job, 1, 1);
  ck_assert_int_eq(mlq_flush(job, 30), 0);
  ck_assert_uint_eq(report_server_count(server), 2);
  mlq_detach(job);
}
END_TEST

START_TEST(test_child_attaches_anew) {
  mlq_job* job = mlq_attach();
  pid_t child;
  int status;

  mlq_report(job, 0, 1);
  ck_assert_int_eq(mlq_flush(job, 30), 0);
  child = fork();
  if (child == 0) {
    mlq_job* own = mlq_attach();

    mlq_report(job, 50, 1);
    mlq_report(own, 60, 1);
    exit(own != job && mlq_active(own) && mlq_flush(own, 30) == 0 ? 0 : 1);
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  ck_assert_uint_eq(report_server_count(server), 2);
  ck_assert_double_eq(report_server_point(server, 1).iteration, 60);
  ck_assert_str_ne(report_server_point(server, 0).stream, report_server_point(server, 1).stream);
  mlq_detach(job);
}
END_TEST

static atomic_bool reporters_stop;

static void* reporter(void* context) {
  mlq_job* job = context;

  for (int i = 0; !atomic_load(&reporters_stop); i++) {
    mlq_report(job, i, 1);
    if (i % 64 == 0) usleep(100);
  }
  return NULL;
}

START_TEST(test_fork_among_reporting_threads) {
  mlq_job* job = mlq_attach();
  mlq_counters counters;
  pthread_t threads[4];
  int status;

  for (int i = 0; i < 4; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, reporter, job), 0);
  for (int i = 0; i < 40; i++) {
    pid_t child = fork();

    if (child == 0) {
      alarm(20);
      mlq_report(job, 1e6, 1);
      mlq_detach(mlq_attach());
      _exit(mlq_active(job)); /* no search for leaks: the thread may have been at work when we forked */
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
  }
  atomic_store(&reporters_stop, true);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  ck_assert_int_eq(mlq_flush(job, 60), 0);
  mlq_get_counters(job, &counters);
  ck_assert_uint_eq(counters.sent + counters.thinned, counters.reported);
  ck_assert_uint_eq(report_server_count(server), counters.sent);
  mlq_detach(job);
}
END_TEST

static volatile sig_atomic_t handled_in_main;
static pthread_t main_thread;

static void on_signal(int number) {
  (void)number;
  handled_in_main += pthread_equal(pthread_self(), main_thread) ? 1 : 1000;
}

START_TEST(test_signals_stay_in_the_training) {
  struct sigaction action = {.sa_handler = on_signal};
  mlq_job* job = mlq_attach();

  main_thread = pthread_self();
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 1; i <= 50; i++) {
    kill(getpid(), SIGUSR1);
    while (handled_in_main < i) usleep(10);
  }
  ck_assert_int_eq(handled_in_main, 50);
  mlq_detach(job);
}
END_TEST

int main(void) {
  Suite* suite = suite_create("client processes");
  TCase* tests = tcase_create("fork and signals");
  TCase* exits = tcase_create("exit");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, test_signals_stay_in_the_training);
  if (!sanitizer) {
    tcase_add_test(tests, test_fork);
    tcase_add_test(tests, test_child_attaches_anew);
    tcase_add_test(tests, test_fork_among_reporting_threads);
  }
  suite_add_tcase(suite, tests);
  tcase_set_timeout(exits, 120);
  tcase_add_test(exits, test_exit_while_mlqd_is_silent);
  tcase_add_test(exits, test_exit_flushes);
  suite_add_tcase(suite, exits);
  return run_suite(suite);
}
