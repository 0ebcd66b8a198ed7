/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The client library against a server in the same process that answers as each test wants. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/client_fixture.h"

START_TEST(test_delivers) {
  mlq_job* job;
  stored_point_t point;
  char authorization[128];

  setenv("MLQ_CORES", "6", 1);
  job = mlq_attach();
  ck_assert_int_eq(mlq_active(job), 1);
  report_many(job, 0, 2500);
  mlq_report(job, 2500, NAN);
  mlq_report(job, 2501, -INFINITY);
  mlq_report(job, NAN, 1.0); /* no iteration: not a report */
  ck_assert_int_eq(mlq_flush(job, 30), 0);
  ck_assert_uint_eq(report_server_count(server), 2502);
  for (size_t i = 0; i < 2500; i++) {
    point = report_server_point(server, i);
    ck_assert_uint_eq(point.n, i + 1);
    ck_assert_double_eq(point.iteration, (double)i);
    ck_assert_double_eq(point.loss, 1.0 / (1 + (double)i));
    ck_assert_double_eq(point.cores, 6);
    ck_assert_double_gt(point.time, 1.6e9);
  }
  ck_assert(isnan(report_server_point(server, 2500).loss));
  ck_assert(isnan(report_server_point(server, 2501).loss));
  ck_assert_uint_eq(strlen(point.stream), 32);
  report_server_authorization(server, authorization, sizeof(authorization));
  ck_assert_str_eq(authorization, "Bearer header.claims.signature");
  mlq_detach(job);
}
END_TEST

START_TEST(test_detach_flushes_and_attach_counts) {
  mlq_job* job = mlq_attach();

  ck_assert_ptr_eq(mlq_attach(), job);
  mlq_detach(job);
  ck_assert_int_eq(mlq_active(job), 1);
  report_many(job, 0, 10);
  mlq_detach(job);
  ck_assert_uint_eq(report_server_count(server), 10);

  job = mlq_attach(); /* once more: another stream */
  mlq_report(job, 10, 0.5);
  mlq_detach(job);
  ck_assert_uint_eq(report_server_count(server), 11);
  ck_assert_str_ne(report_server_point(server, 0).stream, report_server_point(server, 10).stream);
  ck_assert_uint_eq(report_server_point(server, 10).n, 1);
}
END_TEST

START_TEST(test_unix_socket_and_proxy) {
  char path[] = "/tmp/mlq-test-XXXXXX", url[128];
  report_server_t* other;
  mlq_job* job;

  ck_assert_int_ge(mkstemp(path), 0);
  other = report_server_start(0, path);
  ck_assert_ptr_nonnull(other);
  snprintf(url, sizeof(url), "unix:%s", path);
  use_address(url);
  setenv("http_proxy", "http://127.0.0.1:1", 1); /* would lead nowhere */
  job = mlq_attach();
  report_many(job, 0, 3);
  ck_assert_int_eq(mlq_flush(job, 30), 0);
  mlq_detach(job);
  ck_assert_uint_eq(report_server_count(other), 3);

  use_port(report_server_port(server));
  job = mlq_attach();
  report_many(job, 0, 4);
  ck_assert_int_eq(mlq_flush(job, 30), 0);
  mlq_detach(job);
  ck_assert_uint_eq(report_server_count(server), 4);
  report_server_stop(other);
  unlink(path);
}
END_TEST

static const char* const useless[][3] = {
    {"MLQ_URL", "", "0"},
    {"MLQ_TOKEN", "", "0"},
    {"MLQ_URL", "ftp://127.0.0.1", "0"},
    {"MLQ_URL", "http://127.0.0.1:1/\r\nX: y", "0"},
    {"MLQ_URL", "unix:relative", "0"},
    {"MLQ_TOKEN", "a b", "0"},
    {"MLQ_TOKEN", "a\r\nX-Role: scheduler", "0"},
    {"RANK", "1", "0"},
    {"SLURM_PROCID", "3", "0"},
};

START_TEST(test_silent_no_op) {
  mlq_counters counters;
  mlq_job* job;

  setenv(useless[_i][0], useless[_i][1], 1);
  job = mlq_attach();
  ck_assert_ptr_nonnull(job);
  ck_assert_int_eq(mlq_active(job), 0);
  report_many(job, 0, 100000);
  ck_assert_int_eq(mlq_flush(job, 1), 0);
  mlq_get_counters(job, &counters);
  ck_assert_uint_eq(counters.reported, 0);
  mlq_detach(job);
  mlq_detach(job);
  ck_assert_uint_eq(report_server_requests(server), 0);
}
END_TEST

START_TEST(test_null_handle) {
  mlq_counters counters;

  mlq_report(NULL, 1, 1);
  ck_assert_int_eq(mlq_active(NULL), 0);
  ck_assert_int_eq(mlq_flush(NULL, 0), 0);
  mlq_get_counters(NULL, &counters);
  mlq_detach(NULL);
}
END_TEST

START_TEST(test_rank_zero_of_a_launcher) {
  mlq_job* job;

  setenv("SLURM_PROCID", "3", 1); /* a companion job's task may be rank 0 of the training */
  setenv("RANK", "0", 1);
  job = mlq_attach();
  ck_assert_int_eq(mlq_active(job), 1);
  mlq_detach(job);
}
END_TEST

START_TEST(test_lost_answers_make_no_duplicates) {
  server_behaviour_t behaviour = {.swallow_count = 2};
  mlq_job* job = mlq_attach();

  report_server_behave(server, &behaviour);
  report_many(job, 0, 50);
  ck_assert_int_eq(mlq_flush(job, 30), 0);
  ck_assert_uint_eq(report_server_count(server), 50);
  ck_assert_uint_ge(report_server_repeats(server), 1);
  for (size_t i = 0; i < 50; i++) ck_assert_double_eq(report_server_point(server, i).iteration, (double)i);
  mlq_detach(job);
}
END_TEST

static const int passing[] = {429, 500, 502, 503, 404};

START_TEST(test_tries_again) {
  server_behaviour_t behaviour = {.status = passing[_i], .status_count = 2};
  mlq_counters counters;
  mlq_job* job = mlq_attach();

  report_server_behave(server, &behaviour);
  report_many(job, 0, 20);
  ck_assert_int_eq(mlq_flush(job, 60), 0);
  ck_assert_uint_eq(report_server_count(server), 20);
  mlq_get_counters(job, &counters);
  ck_assert_uint_eq(counters.reported, 20);
  ck_assert_uint_eq(counters.sent, 20);
  ck_assert_uint_eq(counters.refused, 0);
  ck_assert_uint_eq(counters.thinned, 0);
  mlq_detach(job);
}
END_TEST

START_TEST(test_retry_after) {
  server_behaviour_t behaviour = {.status = _i ? 503 : 429, .status_count = 1, .retry_after = "2"};
  mlq_job* job = mlq_attach();

  report_server_behave(server, &behaviour);
  report_many(job, 0, 5);
  ck_assert_int_eq(mlq_flush(job, 30), 0); /* waiting in flush does not cut it short */
  ck_assert_uint_eq(report_server_requests(server), 2);
  ck_assert_double_ge(report_server_request_time(server, 1) - report_server_request_time(server, 0), 1.9);
  mlq_detach(job);
}
END_TEST

START_TEST(test_bad_point_goes_alone) {
  server_behaviour_t behaviour = {.has_bad_iteration = true, .bad_iteration = 321};
  mlq_counters counters;
  mlq_job* job = mlq_attach();

  report_server_behave(server, &behaviour);
  report_many(job, 0, 1000);
  ck_assert_int_eq(mlq_flush(job, 60), -1); /* not everything was taken */
  mlq_get_counters(job, &counters);
  ck_assert_uint_eq(counters.refused, 1);
  ck_assert_uint_eq(counters.sent, 999);
  ck_assert_uint_eq(report_server_count(server), 999);
  ck_assert_double_eq(report_server_point(server, 320).iteration, 320);
  ck_assert_double_eq(report_server_point(server, 321).iteration, 322);
  ck_assert_int_eq(mlq_active(job), 1);
  mlq_detach(job);
}
END_TEST

START_TEST(test_refuses_everything_with_400) {
  server_behaviour_t behaviour = {.status = 400, .status_count = -1};
  mlq_counters counters;
  mlq_job* job = mlq_attach();

  report_server_behave(server, &behaviour);
  report_many(job, 0, 3000);
  ck_assert_int_eq(mlq_flush(job, 60), -1);
  mlq_get_counters(job, &counters);
  ck_assert_uint_eq(counters.refused, 3000);
  ck_assert_uint_lt(report_server_requests(server), 64); /* no search for the guilty point without end */
  mlq_detach(job);
}
END_TEST

START_TEST(test_refused_until_it_ends) {
  server_behaviour_t behaviour = {.status = _i ? 403 : 401, .status_count = -1};
  mlq_counters counters;
  mlq_job* job = mlq_attach();

  report_server_behave(server, &behaviour);
  report_many(job, 0, 1500);
  ck_assert_int_eq(mlq_flush(job, 60), -1);
  ck_assert_int_eq(mlq_active(job), 0);
  report_many(job, 1500, 3000);
  ck_assert_int_eq(mlq_flush(job, 60), -1);
  mlq_get_counters(job, &counters);
  ck_assert_uint_eq(counters.reported, 1500);
  ck_assert_uint_eq(counters.sent, 0);
  ck_assert_uint_lt(report_server_requests(server), 10); /* nobody's wait makes it ask again */
  mlq_detach(job);                                       /* returns though nothing was taken */
  ck_assert_uint_eq(report_server_count(server), 0);
}
END_TEST

START_TEST(test_refused_until_the_site_sets_its_key_right) {
  server_behaviour_t behaviour = {.status = _i ? 403 : 401, .status_count = 2};
  mlq_counters counters;
  mlq_job* job = mlq_attach();

  report_server_behave(server, &behaviour);
  report_many(job, 0, 1500);
  ck_assert_int_eq(mlq_flush(job, 60), -1);
  for (int i = 0; i < 6000 && !mlq_active(job); i++) usleep(10000);
  report_many(job, 1500, 3000);
  ck_assert_int_eq(mlq_flush(job, 60), 0);
  mlq_get_counters(job, &counters);
  ck_assert_uint_eq(counters.reported, 3000);
  ck_assert_uint_eq(counters.sent, 3000);
  ck_assert_uint_eq(counters.refused, 0);
  ck_assert_uint_eq(report_server_count(server), 3000);
  mlq_detach(job);
}
END_TEST

START_TEST(test_refused_and_then_wrong_is_accepted) {
  server_behaviour_t behaviour = {.status = 401, .status_count = 1, .has_bad_iteration = true, .bad_iteration = 7};
  mlq_job* job = mlq_attach();

  report_server_behave(server, &behaviour);
  mlq_report(job, 7, 1); /* the only one that is kept */
  ck_assert_int_eq(mlq_flush(job, 60), -1);
  for (int i = 0; i < 6000 && !mlq_active(job); i++) usleep(10000);
  report_many(job, 10, 20);
  ck_assert_int_eq(mlq_flush(job, 60), 0);
  ck_assert_uint_eq(report_server_count(server), 10);
  mlq_detach(job);
}
END_TEST

START_TEST(test_refused_after_a_long_absence) {
  server_behaviour_t behaviour = {.status = 500, .status_count = -1};
  mlq_job* job = mlq_attach();

  report_server_behave(server, &behaviour);
  for (int i = 0; i < 8; i++) { /* each makes it try once more */
    mlq_report(job, i, 1);
    ck_assert_int_eq(mlq_flush(job, 0.3), -1);
  }
  behaviour = (server_behaviour_t){.status = 401, .status_count = 1};
  report_server_behave(server, &behaviour);
  ck_assert_int_eq(mlq_flush(job, 60), -1);
  for (int i = 0; i < 1000 && !mlq_active(job); i++) usleep(10000); /* soon, as after the first refusal */
  ck_assert_int_eq(mlq_active(job), 1);
  mlq_detach(job);
}
END_TEST

START_TEST(test_set_right_before_the_end) {
  server_behaviour_t behaviour = {.status = 401, .status_count = -1}, right = {.status = 200};
  mlq_job* job = mlq_attach();

  report_server_behave(server, &behaviour);
  report_many(job, 0, 1500);
  ck_assert_int_eq(mlq_flush(job, 60), -1);
  report_server_behave(server, &right);
  mlq_detach(job);
  ck_assert_uint_eq(report_server_count(server), 1500);
}
END_TEST

START_TEST(test_long_absence) {
  const int reports = 400000;
  uint16_t port = report_server_port(server);
  mlq_counters counters;
  mlq_job* job;
  size_t count;

  report_server_stop(server);
  job = mlq_attach();
  for (int i = 0; i < reports; i++) {
    mlq_report(job, i, 1);
    if (i % 4000 == 0) usleep(1000); /* the thread gets to empty the ring: what is thinned is the backlog */
  }
  ck_assert_int_eq(mlq_flush(job, 0.01), -1);
  server = report_server_start(port, NULL);
  ck_assert_ptr_nonnull(server);
  ck_assert_int_eq(mlq_flush(job, 60), 0);
  mlq_get_counters(job, &counters);
  ck_assert_uint_eq(counters.reported, (uint64_t)reports);
  ck_assert_uint_eq(counters.sent + counters.thinned, (uint64_t)reports);
  count = report_server_count(server);
  ck_assert_uint_eq(count, counters.sent);
  ck_assert_uint_lt(count, 64000);
  ck_assert_uint_gt(count, 16000);
  ck_assert_double_eq(report_server_point(server, 0).iteration, 0);
  for (size_t i = 0; i < 1000; i++)
    ck_assert_double_eq(report_server_point(server, count - 1 - i).iteration, reports - 1.0 - (double)i);
  mlq_detach(job);
}
END_TEST

static void* flush_in_thread(void* job) {
  return mlq_flush(job, 60) == 0 ? job : NULL;
}

/* Whichever comes first, the handle is not freed under the one that waits. */
START_TEST(test_detach_while_others_flush) {
  server_behaviour_t busy = {.status = 503, .status_count = 2};

  report_server_behave(server, &busy);
  for (size_t round = 1; round <= 10; round++) {
    mlq_job* job = mlq_attach();
    pthread_t threads[3];
    void* done;

    report_many(job, 0, 20);
    for (size_t i = 0; i < 3; i++)
      ck_assert_int_eq(pthread_create(&threads[i], NULL, flush_in_thread, job), 0);
    mlq_detach(job);
    for (size_t i = 0; i < 3; i++) {
      ck_assert_int_eq(pthread_join(threads[i], &done), 0);
      ck_assert_ptr_eq(done, job);
    }
    ck_assert_uint_eq(report_server_count(server), 20 * round);
  }
}
END_TEST

int main(void) {
  Suite* suite = suite_create("client");
  TCase* tests = tcase_create("library");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, test_delivers);
  tcase_add_test(tests, test_detach_flushes_and_attach_counts);
  tcase_add_test(tests, test_unix_socket_and_proxy);
  tcase_add_loop_test(tests, test_silent_no_op, 0, (int)(sizeof(useless) / sizeof(useless[0])));
  tcase_add_test(tests, test_null_handle);
  tcase_add_test(tests, test_rank_zero_of_a_launcher);
  tcase_add_test(tests, test_lost_answers_make_no_duplicates);
  tcase_add_loop_test(tests, test_tries_again, 0, (int)(sizeof(passing) / sizeof(passing[0])));
  tcase_add_loop_test(tests, test_retry_after, 0, 2);
  tcase_add_test(tests, test_bad_point_goes_alone);
  tcase_add_test(tests, test_refuses_everything_with_400);
  tcase_add_loop_test(tests, test_refused_until_it_ends, 0, 2);
  tcase_add_loop_test(tests, test_refused_until_the_site_sets_its_key_right, 0, 2);
  tcase_add_test(tests, test_refused_and_then_wrong_is_accepted);
  tcase_add_test(tests, test_refused_after_a_long_absence);
  tcase_add_test(tests, test_set_right_before_the_end);
  tcase_add_test(tests, test_long_absence);
  tcase_add_test(tests, test_detach_while_others_flush);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
