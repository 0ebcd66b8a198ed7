/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The client's ring and backlog. */
#include <check.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tools/client/backlog.h"
#include "tools/client/ring.h"

static mlq_ring_t ring;

static unsigned push(double iteration) {
  mlq_point_t point = {.iteration = iteration};
  uint64_t position;

  return mlq_ring_push(&ring, &point, &position);
}

START_TEST(test_ring_order) {
  mlq_point_t point;

  mlq_ring_init(&ring);
  ck_assert(!mlq_ring_pop(&ring, &point));
  for (int i = 0; i < 3 * MLQ_RING_SIZE; i++) { /* several laps */
    ck_assert_uint_eq(push(2 * i), 0);
    ck_assert_uint_eq(push(2 * i + 1), 0);
    ck_assert(mlq_ring_pop(&ring, &point));
    ck_assert_double_eq(point.iteration, 2 * i);
    ck_assert(mlq_ring_pop(&ring, &point));
    ck_assert_double_eq(point.iteration, 2 * i + 1);
    ck_assert(!mlq_ring_pop(&ring, &point));
  }
}
END_TEST

START_TEST(test_full_ring_keeps_the_newest) {
  mlq_point_t point;
  unsigned given_up = 0;

  mlq_ring_init(&ring);
  for (int i = 0; i < MLQ_RING_SIZE + 100; i++) given_up += push(i);
  ck_assert_uint_eq(given_up, 100);
  ck_assert_uint_eq(mlq_ring_fill(&ring), MLQ_RING_SIZE);
  for (int i = 100; i < MLQ_RING_SIZE + 100; i++) {
    ck_assert(mlq_ring_pop(&ring, &point));
    ck_assert_double_eq(point.iteration, i);
  }
  ck_assert(!mlq_ring_pop(&ring, &point));
}
END_TEST

#define PRODUCERS 4
#define EACH 100000
static atomic_uint producers_left;
static _Atomic uint64_t total_given_up;

static void* produce(void* context) {
  double base = *(int*)context * (double)EACH;

  for (int i = 0; i < EACH; i++) atomic_fetch_add(&total_given_up, push(base + i));
  atomic_fetch_sub(&producers_left, 1);
  return NULL;
}

/* Every point comes out once or was given up, and each producer's points come out in its order. */
START_TEST(test_ring_many_producers) {
  pthread_t threads[PRODUCERS];
  int numbers[PRODUCERS];
  double last[PRODUCERS];
  uint64_t taken = 0;
  mlq_point_t point;

  mlq_ring_init(&ring);
  atomic_store(&producers_left, PRODUCERS);
  for (int i = 0; i < PRODUCERS; i++) {
    numbers[i] = i;
    last[i] = -1;
    ck_assert_int_eq(pthread_create(&threads[i], NULL, produce, &numbers[i]), 0);
  }
  for (;;) {
    unsigned left = atomic_load(&producers_left);

    if (!mlq_ring_pop(&ring, &point)) {
      if (!left) break;
      continue;
    }
    int producer = (int)(point.iteration / EACH);

    ck_assert_double_gt(point.iteration, last[producer]);
    last[producer] = point.iteration;
    taken++;
  }
  for (int i = 0; i < PRODUCERS; i++) pthread_join(threads[i], NULL);
  ck_assert_uint_eq(taken + atomic_load(&total_given_up), PRODUCERS * EACH);
}
END_TEST

START_TEST(test_backlog_thins_the_oldest) {
  mlq_backlog_t backlog = {0};
  size_t given_up = 0, total = 5 * MLQ_BACKLOG_MAX;

  for (size_t i = 0; i < total; i++)
    given_up += mlq_backlog_add(&backlog, &(mlq_point_t){.iteration = (double)i});
  ck_assert_uint_le(backlog.count, MLQ_BACKLOG_MAX);
  ck_assert_uint_ge(backlog.count, MLQ_BACKLOG_MAX / 2);
  ck_assert_uint_eq(backlog.count + given_up, total);
  ck_assert_double_eq(backlog.points[0].point.iteration, 0);
  for (size_t i = 1; i < backlog.count; i++)
    ck_assert_uint_gt(backlog.points[i].number, backlog.points[i - 1].number);
  /* the newest quarter is whole, gaps widen towards the past */
  for (size_t i = 0; i < MLQ_BACKLOG_MAX / 4; i++)
    ck_assert_uint_eq(backlog.points[backlog.count - 1 - i].number, total - i);
  ck_assert_uint_gt(backlog.points[10].number - backlog.points[9].number,
                    backlog.points[backlog.count / 2].number - backlog.points[backlog.count / 2 - 1].number);
  mlq_backlog_free(&backlog);
}
END_TEST

START_TEST(test_backlog_leaves_what_is_in_flight) {
  mlq_backlog_t backlog = {0};

  for (size_t i = 0; i < MLQ_BACKLOG_MAX; i++)
    ck_assert_uint_eq(mlq_backlog_add(&backlog, &(mlq_point_t){0}), 0);
  backlog.in_flight = 1000;
  for (size_t i = 0; i < 2 * MLQ_BACKLOG_MAX; i++) mlq_backlog_add(&backlog, &(mlq_point_t){0});
  for (size_t i = 0; i < 1000; i++) ck_assert_uint_eq(backlog.points[i].number, i + 1);
  mlq_backlog_drop(&backlog, 1000);
  ck_assert_uint_gt(backlog.points[0].number, 1000);
  ck_assert_uint_eq(backlog.points[backlog.count - 1].number, 3 * MLQ_BACKLOG_MAX);
  mlq_backlog_free(&backlog);
}
END_TEST

START_TEST(test_backlog_json) {
  mlq_backlog_t backlog = {0};
  char* text;
  json_t *body, *points;

  mlq_backlog_add(&backlog, &(mlq_point_t){.iteration = 1700, .loss = 0.1, .time = 1790000000.25});
  mlq_backlog_add(&backlog, &(mlq_point_t){.iteration = 1701.5, .loss = NAN, .time = 1790000001});
  mlq_backlog_add(&backlog, &(mlq_point_t){.iteration = 1702});
  text = mlq_backlog_json(&backlog, 2, "abc", 4);
  body = json_loads(text, 0, NULL);
  points = json_object_get(body, "points");
  ck_assert_int_eq(json_integer_value(json_object_get(body, "v")), 1);
  ck_assert_str_eq(json_string_value(json_object_get(body, "stream")), "abc");
  ck_assert_uint_eq(json_array_size(points), 2);
  ck_assert_double_eq(json_number_value(json_object_get(json_array_get(points, 0), "l")), 0.1);
  ck_assert_double_eq(json_number_value(json_object_get(json_array_get(points, 0), "t")), 1790000000.25);
  ck_assert_double_eq(json_number_value(json_object_get(json_array_get(points, 1), "i")), 1701.5);
  ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(points, 1), "n")), 2);
  ck_assert(json_is_null(json_object_get(json_array_get(points, 1), "l")));
  ck_assert_double_eq(json_number_value(json_object_get(json_array_get(points, 1), "c")), 4);
  json_decref(body);
  free(text);

  text = mlq_backlog_json(&backlog, 1, "abc", 0);
  body = json_loads(text, 0, NULL);
  ck_assert_ptr_null(json_object_get(json_array_get(json_object_get(body, "points"), 0), "c"));
  json_decref(body);
  free(text);
  mlq_backlog_free(&backlog);
}
END_TEST

int main(void) {
  Suite* suite = suite_create("client parts");
  TCase* tests = tcase_create("ring and backlog");
  SRunner* runner;
  int failed;

  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, test_ring_order);
  tcase_add_test(tests, test_full_ring_keeps_the_newest);
  tcase_add_test(tests, test_ring_many_producers);
  tcase_add_test(tests, test_backlog_thins_the_oldest);
  tcase_add_test(tests, test_backlog_leaves_what_is_in_flight);
  tcase_add_test(tests, test_backlog_json);
  suite_add_tcase(suite, tests);
  runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
