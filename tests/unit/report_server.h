/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small mlqd for tests of the client: takes POST /v1/reports as doc/protocol.md says, or refuses as told.
 */
#ifndef MLQ_TEST_REPORT_SERVER_H
#define MLQ_TEST_REPORT_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  char stream[64];
  uint64_t n;
  double iteration, loss, time, cores; /* loss NaN: null; cores 0: absent */
} stored_point_t;

typedef struct {
  int status;              /* of the next answers; 200 stores */
  int status_count;        /* so many answers, then 200; -1 = all */
  const char* retry_after; /* header, or NULL */
  int swallow_count;       /* so many requests are stored, then the connection is cut without an answer */
  bool has_bad_iteration;
  double bad_iteration; /* a body with such a point is answered with 400 */
} server_behaviour_t;

typedef struct report_server report_server_t;

/* On 127.0.0.1:port (0 = any free one), or on a Unix socket when path is not NULL. NULL on failure. */
report_server_t* report_server_start(uint16_t port, const char* path);
void report_server_stop(report_server_t* server);

uint16_t report_server_port(const report_server_t* server);
void report_server_behave(report_server_t* server, const server_behaviour_t* behaviour);

size_t report_server_count(report_server_t* server); /* points stored, repeats not counted */
size_t report_server_repeats(report_server_t* server);
size_t report_server_requests(report_server_t* server);
double report_server_request_time(report_server_t* server,
                                  size_t index); /* of the first 64, CLOCK_MONOTONIC */
stored_point_t report_server_point(report_server_t* server, size_t index);
/* Of the last request. */
void report_server_authorization(report_server_t* server, char* out, size_t size);

/* A socket that listens on 127.0.0.1 and never answers; *port is set. */
int silent_socket(uint16_t* port);

#endif
