/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of the client library: a server in the same process, and an environment that names it. */
#ifndef MLQ_TEST_CLIENT_FIXTURE_H
#define MLQ_TEST_CLIENT_FIXTURE_H

#include <check.h>
#include <stdlib.h>

#include "tests/unit/report_server.h"
#include "tools/client/mlq.h"

extern report_server_t* server;

void use_address(const char* url);
void use_port(uint16_t port);
void set_up(void);
void tear_down(void);
void report_many(mlq_job* job, int from, int to);

/* Runs the suite; the exit status of the program. */
int run_suite(Suite* suite);

#endif
