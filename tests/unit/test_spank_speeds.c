/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unequal batches at launch: what srun asks mlqd for, and what every node makes of the answer. */
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "slurm-plugin/spank/ask.h"
#include "slurm-plugin/spank/node_speeds.h"
#include "slurm-plugin/spank/option.h"
#include "tests/unit/spank_fixture.h"

/* An mlqd that answers one request with a text, in pieces or never. */
typedef struct {
  int listener;
  int silent; /* takes the connection and says nothing */
  const char* answer;
  char request[4096];
  char url[64];
  pthread_t thread;
} server_t;

static void* serve(void* context) {
  server_t* server = context;
  int fd = accept(server->listener, NULL, NULL);
  size_t used = 0, length = strlen(server->answer);

  while (fd >= 0 && used + 1 < sizeof(server->request) && !strstr(server->request, "\r\n\r\n")) {
    ssize_t n = recv(fd, server->request + used, sizeof(server->request) - 1 - used, 0);

    if (n <= 0) break;
    used += (size_t)n;
  }
  if (server->silent) {
    recv(fd, server->request + used, 1, 0); /* until the other side has enough */
  } else {
    for (size_t at = 0; at < length; at += 7)
      send(fd, server->answer + at, length - at < 7 ? length - at : 7, MSG_NOSIGNAL);
  }
  close(fd);
  return NULL;
}

static void start_server(server_t* server, const char* answer, int silent) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof(address);

  memset(server, 0, sizeof(*server));
  server->answer = answer;
  server->silent = silent;
  server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ck_assert_int_eq(bind(server->listener, (struct sockaddr*)&address, size), 0);
  ck_assert_int_eq(listen(server->listener, 4), 0);
  getsockname(server->listener, (struct sockaddr*)&address, &size);
  snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%d", ntohs(address.sin_port));
  pthread_create(&server->thread, NULL, serve, server);
}

static void stop_server(server_t* server) {
  pthread_join(server->thread, NULL);
  close(server->listener);
}

static int entries(const char* path) {
  DIR* dir = opendir(path);
  int n = 0;

  while (readdir(dir)) n++;
  closedir(dir);
  return n;
}

static double seconds(void) {
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#define OK(length, body) "HTTP/1.1 200 OK\r\nContent-Length: " length "\r\nConnection: close\r\n\r\n" body

START_TEST(answer_is_taken_whole_or_not_at_all) {
  static const struct {
    const char* answer;
    long wanted;
  } cases[] = {
      {OK("12", "n1 5\nn2 1.5\n"), 12},
      {OK("13", "n1 5\nn2 1.5\n"), -1}, /* cut off */
      {OK("11", "n1 5\nn2 1.5\n"), -1},
      {"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", -1},
      {"HTTP/1.1 200 OK\r\n\r\nn1 5\n", -1}, /* no length */
      {"HTTP/1.1 200", -1},
      {"", -1},
  };
  const char* reason;
  char answer[512];
  int files;

  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    server_t server;
    long n;

    start_server(&server, cases[i].answer, 0);
    files = entries("/proc/self/fd");
    n = ask_get(server.url, "/v1/speeds?x=1", "tok", 2000, answer, sizeof(answer), &reason);
    stop_server(&server);
    ck_assert_msg(n == cases[i].wanted, "case %zu: %ld", i, n);
    ck_assert_int_le(entries("/proc/self/fd"), files);
    ck_assert_ptr_nonnull(strstr(server.request, "GET /v1/speeds?x=1 HTTP/1.1\r\n"));
    ck_assert_ptr_nonnull(strstr(server.request, "\r\nAuthorization: Bearer tok\r\n"));
    if (n > 0) ck_assert_str_eq(answer, "n1 5\nn2 1.5\n");
  }
}
END_TEST

START_TEST(deadline_is_kept) {
  const char* reason;
  char answer[64];
  server_t server;
  double start;

  start_server(&server, "", 1);
  start = seconds();
  ck_assert_int_eq(ask_get(server.url, "/", "t", 200, answer, sizeof(answer), &reason), -1);
  ck_assert_double_lt(seconds() - start, 2); /* a loaded machine may be late, a missing deadline never ends */
  ck_assert_str_eq(reason, "mlqd does not answer in time");
  stop_server(&server);
}
END_TEST

START_TEST(addresses_that_cannot_be_asked) {
  static const char* const urls[] = {"https://127.0.0.1:1", "http://", "http://:80", "http://127.0.0.1:123456",
                                     "http://[::1", "http://no-such-host.invalid:1", "unix:/run/x"};
  const char* reason;
  char answer[64];

  for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++)
    ck_assert_msg(ask_get(urls[i], "/", "t", 200, answer, sizeof(answer), &reason) == -1, "%s", urls[i]);
  ck_assert_int_eq(ask_get("http://127.0.0.1:1", "/", "t", 200, answer, sizeof(answer), &reason), -1);
  ck_assert_str_eq(reason, "mlqd cannot be reached");
  /* a name that every machine's file of hosts has */
  ck_assert_int_eq(ask_get("http://localhost:1/", "/", "t", 200, answer, sizeof(answer), &reason), -1);
  ck_assert_str_eq(reason, "mlqd cannot be reached");
}
END_TEST

START_TEST(speeds_become_weights_of_the_jobs_nodes) {
  char out[256];

  ck_assert_int_eq(node_speeds_format("n1 100\nn2 50\nn3 200\nother 900\n", "n[1-4]", out, sizeof(out)), 0);
  ck_assert_str_eq(out, "n1=10000,n2=5000,n3=20000");
  ck_assert_int_eq(node_speeds_format("n1 1e-9\nn2 1e9\n", "n[1-2]", out, sizeof(out)), 0);
  ck_assert_str_eq(out, "n1=1,n2=20000");
  for (const char* const* bad =
           (const char* const[]){"", "\n", "n1", "n1 x\n", "n1 nan\n", "n1 -1\n", "n1 0\n", " 5\n", "m1 5\n", NULL};
       *bad; bad++)
    ck_assert_msg(node_speeds_format(*bad, "n[1-4]", out, sizeof(out)) == -1, "\"%s\" gave %s", *bad, out);
  ck_assert_int_eq(node_speeds_format("n1 5\nn2 5\n", "n[1-2]", out, 12), -1); /* does not fit */
}
END_TEST

/* The batch of every rank of a step, as its nodes compute it; ck_asserts that it is a partition. */
static void split_of(const char* speeds, const char* nodes, const char* tasks, const uint32_t* per_node,
                     uint32_t count, uint64_t batch, uint64_t* sizes) {
  uint64_t next = 0;
  uint32_t ranks = 0, rank = 0;
  char value[64];

  for (uint32_t node = 0; node < count; node++) ranks += per_node[node];
  snprintf(value, sizeof(value), "batch=%llu", (unsigned long long)batch);
  for (uint32_t node = 0; node < count; node++) {
    load(S_CTX_REMOTE);
    if (speeds) set_job_env(NODE_SPEEDS, speeds);
    set_job_env("SLURM_STEP_NODELIST", nodes);
    set_job_env("SLURM_STEP_TASKS_PER_NODE", tasks);
    fake.ranks = ranks;
    fake.node = node;
    start_job(value);
    ck_assert_ptr_null(job_env(NODE_SPEEDS)); /* not for the tasks */
    for (uint32_t task = 0; task < per_node[node]; task++, rank++) {
      fake.task = (int)task;
      fake.rank = rank;
      ck_assert_int_eq(slurm_spank_task_init(FAKE_SPANK, 4, site_args), 0);
      ck_assert_uint_eq(strtoull(job_env("MLQ_BATCH_OFFSET"), NULL, 10), next);
      sizes[rank] = strtoull(job_env("MLQ_BATCH_SIZE"), NULL, 10);
      next += sizes[rank];
    }
  }
  ck_assert_uint_eq(next, batch);
}

START_TEST(nodes_split_alike_and_exactly) {
  const uint32_t tasks[] = {2, 2, 1};
  uint64_t sizes[5];

  split_of("n1=10000,n2=5000,n3=20000", "n[1-3]", "2(x2),1", tasks, 3, 1000, sizes);
  for (int i = 0; i < 5; i++) {
    const double exact = 1 + 995 * (double[]){1, 1, 0.5, 0.5, 2}[i] / 5;
    ck_assert_double_eq_tol((double)sizes[i], exact, 1);
  }
  split_of("n2=5000", "n[1-3]", "2(x2),1", tasks, 3, 7, sizes); /* nobody without a sample */
  for (int i = 0; i < 5; i++) ck_assert_uint_ge(sizes[i], 1);
  split_of("n2=5000", "n[1-3]", "2(x2),1", tasks, 3, 3, sizes); /* fewer samples than ranks */
}
END_TEST

START_TEST(any_fault_is_the_equal_split_on_all_nodes) {
  static const char* const faults[][3] = {
      {NULL, "n[1-3]", "2(x2),1"},          {"", "n[1-3]", "2(x2),1"},
      {"n1=", "n[1-3]", "2(x2),1"},         {"n1=-5", "n[1-3]", "2(x2),1"},
      {"n1=5000", "n[1-2]", "2(x2),1"},     {"n1=5000", "n[1-3]", "2(x2)"},
      {"n1=5000", "n[1-3]", "2(x2),2"},     {"n1=5000", "n[1-3]", "2(x2),1,"},
      {"n1=5000", "n[1-3]", "0,4,1"},       {"n1=5000", "n[1-3]", "2(x0),1"},
      {"n1=5000", "n[1-3]", "2(x99999999999),1"}, {"n1=5000", "n[1-3]", "99999999999,2,1"},
      {"n1=5000", "n[1-3]", "2(x2,1"},      {"n1=5000", "", "2(x2),1"},
  };
  const uint32_t tasks[] = {2, 2, 1};
  uint64_t sizes[5];

  for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
    split_of(faults[i][0], faults[i][1], faults[i][2], tasks, 3, 1001, sizes);
    ck_assert_msg(sizes[0] == 201 && sizes[1] == 200 && sizes[4] == 200, "case %zu: %llu %llu %llu", i,
                  (unsigned long long)sizes[0], (unsigned long long)sizes[1], (unsigned long long)sizes[4]);
  }
}
END_TEST

START_TEST(exact_at_4096_ranks) {
  char* speeds = malloc(NODE_SPEEDS_MAX);
  uint32_t tasks[512];
  uint64_t* sizes = calloc(4096, sizeof(*sizes));
  size_t used = 0;

  for (int i = 0; i < 512; i++) {
    tasks[i] = 8;
    used += (size_t)snprintf(speeds + used, NODE_SPEEDS_MAX - used, "%sn%d=%d", i ? "," : "", i + 1,
                             1 + i * 7919 % NODE_WEIGHT_MAX);
  }
  split_of(speeds, "n[1-512]", "8(x512)", tasks, 512, 999999999989, sizes);
  split_of(speeds, "n[1-512]", "8(x512)", tasks, 512, 4097, sizes);
  free(speeds);
  free(sizes);
}
END_TEST

static void ask_in_srun(const char* url, const char* option) {
  load(S_CTX_LOCAL);
  setenv("MLQ_URL", url, 1);
  setenv("MLQ_TOKEN", "tok", 1);
  setenv("MLQ_FAMILY", "a b/%c", 1);
  setenv("MLQ_UNIT", "core", 1);
  setenv("SLURM_JOB_NODELIST", "n[1-2]", 1);
  setenv(NODE_SPEEDS, "n1=3", 1); /* of the step around */
  ck_assert_int_eq(fake.option->cb(0, option, 0), 0);
  ck_assert_int_eq(slurm_spank_local_user_init(FAKE_SPANK, 4, site_args), 0);
}

START_TEST(srun_asks_once_for_a_batch) {
  server_t server;

  start_server(&server, OK("12", "n1 5\nn2 2.5\n"), 0);
  ask_in_srun(server.url, "batch=64");
  stop_server(&server);
  ck_assert_str_eq(getenv(NODE_SPEEDS), "n1=13333,n2=6667");
  ck_assert_ptr_nonnull(strstr(server.request, "GET /v1/speeds?format=text&family=a%20b%2F%25c&unit=core HTTP"));
  ck_assert_str_eq(fake_log(), "");

  ask_in_srun("http://127.0.0.1:1", "goal=min"); /* nothing to split: nobody is asked */
  ck_assert_ptr_null(getenv(NODE_SPEEDS));
  ck_assert_str_eq(fake_log(), "");

  ask_in_srun("http://127.0.0.1:1", "batch=64");
  ck_assert_ptr_null(getenv(NODE_SPEEDS));
  ck_assert_str_eq(fake_log(), "ml_quality: mlqd cannot be reached; the batch is split equally\n");
  ck_assert_int_eq(fake_errors(), 0);
  unsetenv("SLURM_JOB_NODELIST");
}
END_TEST

TCase* spank_speeds_case(void) {
  TCase* speeds = tcase_create("speeds");

  tcase_add_checked_fixture(speeds, site_set_up, site_tear_down);
  tcase_set_timeout(speeds, 120);
  tcase_add_test(speeds, answer_is_taken_whole_or_not_at_all);
  tcase_add_test(speeds, deadline_is_kept);
  tcase_add_test(speeds, addresses_that_cannot_be_asked);
  tcase_add_test(speeds, speeds_become_weights_of_the_jobs_nodes);
  tcase_add_test(speeds, nodes_split_alike_and_exactly);
  tcase_add_test(speeds, any_fault_is_the_equal_split_on_all_nodes);
  tcase_add_test(speeds, exact_at_4096_ranks);
  tcase_add_test(speeds, srun_asks_once_for_a_batch);
  return speeds;
}
