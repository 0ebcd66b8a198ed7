/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/client_fixture.h"

#include <stdio.h>

report_server_t* server;

void use_address(const char* url) {
  setenv("MLQ_URL", url, 1);
  setenv("MLQ_TOKEN", "header.claims.signature", 1);
}

void use_port(uint16_t port) {
  char url[64];

  snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
  use_address(url);
}

void set_up(void) {
  static const char* const names[] = {"MLQ_RANK",  "RANK",     "OMPI_COMM_WORLD_RANK",
                                      "PMIX_RANK", "PMI_RANK", "SLURM_PROCID",
                                      "MLQ_CORES", "MLQ_DEBUG"};

  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) unsetenv(names[i]);
  server = report_server_start(0, NULL);
  ck_assert_ptr_nonnull(server);
  use_port(report_server_port(server));
}

void tear_down(void) {
  report_server_stop(server);
}

void report_many(mlq_job* job, int from, int to) {
  for (int i = from; i < to; i++) mlq_report(job, i, 1.0 / (1 + i));
}

int run_suite(Suite* suite) {
  SRunner* runner = srunner_create(suite);
  int failed;

  srunner_run_all(runner, CK_ENV);
  failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
