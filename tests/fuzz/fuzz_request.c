/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any text: the parser answers, keeps its own bounds, and explains a refusal in printable characters. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/request/batch_split.h"
#include "core/request/quality_request.h"

#define HOLDS(condition)                                  \
  do {                                                    \
    if (!(condition)) {                                   \
      fprintf(stderr, "does not hold: " #condition "\n"); \
      abort();                                            \
    }                                                     \
  } while (0)

static void check_accepted(const mlq_request_t* r) {
  HOLDS(r->min_units <= MLQ_UNITS_MAX && r->max_units <= MLQ_UNITS_MAX);
  HOLDS(!r->min_units || !r->max_units || r->min_units <= r->max_units);
  HOLDS(r->cores_per_unit >= 1 && r->cores_per_unit <= MLQ_CORES_PER_UNIT_MAX);
  HOLDS((r->unit == MLQ_UNIT_CORES) == (r->cores_per_unit > 1));
  HOLDS(r->iterations <= MLQ_ITERATIONS_MAX && r->batch <= MLQ_BATCH_MAX);
  HOLDS(r->companion <= MLQ_JOB_ID_MAX);
  HOLDS(isfinite(r->target));
  HOLDS(r->target_kind != MLQ_TARGET_FRACTION || (r->target > 0 && r->target <= 1));
  HOLDS(memchr(r->family, '\0', sizeof(r->family)));
}

static void check_refused(const char* error, const mlq_request_t* r) {
  HOLDS(error[0] && memchr(error, '\0', MLQ_REQUEST_ERROR_MAX));
  for (const char* c = error; *c; c++) HOLDS(*c >= ' ' && *c <= '~');
  HOLDS(strstr(error, "allowed: "));
  HOLDS(!r->off && !r->min_units && !r->batch && !r->family[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  char *text = malloc(size + 1), error[MLQ_REQUEST_ERROR_MAX];
  mlq_request_t request;

  if (!text) return 0;
  memcpy(text, data, size);
  text[size] = '\0';
  if (mlq_request_parse(text, &request, error, sizeof(error)))
    check_refused(error, &request);
  else
    check_accepted(&request);

  for (uint32_t rank = 0; request.batch && rank < 5; rank++) {
    uint64_t n, offset;

    HOLDS(!mlq_batch_split(request.batch, 5, rank, &n, &offset));
    HOLDS(offset + n <= request.batch);
    HOLDS(rank != 4 || offset + n == request.batch);
  }
  free(text);
  return 0;
}
