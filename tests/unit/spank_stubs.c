/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/spank_stubs.h"

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm-plugin/spank/mint.h"

#define VARIABLES 64

typedef struct {
  char* names[VARIABLES];
  char* values[VARIABLES];
} table_t;

fake_slurm_t fake;
static table_t job, record;
static char log_text[16384];
static int errors;

static int find(const table_t* t, const char* name) {
  for (int i = 0; i < VARIABLES; i++)
    if (t->names[i] && !strcmp(t->names[i], name)) return i;
  return -1;
}

static const char* get(const table_t* t, const char* name) {
  int i = find(t, name);

  return i < 0 ? NULL : t->values[i];
}

static void drop(table_t* t, int i) {
  free(t->names[i]);
  free(t->values[i]);
  t->names[i] = t->values[i] = NULL;
}

static void put(table_t* t, const char* name, const char* value) {
  int i = find(t, name);

  if (i >= 0) drop(t, i);
  for (i = 0; t->names[i]; i++) {
  }
  t->names[i] = strdup(name);
  t->values[i] = strdup(value);
}

void fake_reset(spank_context_t context) {
  for (int i = 0; i < VARIABLES; i++) {
    drop(&job, i);
    drop(&record, i);
  }
  memset(&fake, 0, sizeof(fake));
  fake.context = context;
  fake.uid = 1234;
  fake.job_id = 77;
  fake.ranks = 1;
  fake.module = ".libs/" MINT_MODULE;
  log_text[0] = '\0';
  errors = 0;
}

int mint_module_path(char* path, size_t size) {
  return (size_t)snprintf(path, size, "%s", fake.module) < size ? 0 : -1;
}

const char* job_env(const char* name) {
  return get(&job, name);
}
void set_job_env(const char* name, const char* value) {
  put(&job, name, value);
}
const char* record_env(const char* name) {
  return get(&record, name);
}
const char* fake_log(void) {
  return log_text;
}
int fake_errors(void) {
  return errors;
}

int job_env_contains(const char* text) {
  for (int i = 0; i < VARIABLES; i++)
    if (job.values[i] && strstr(job.values[i], text)) return 1;
  return 0;
}

static void add_line(const char* format, va_list args) {
  size_t n = strlen(log_text);

  vsnprintf(log_text + n, sizeof(log_text) - n - 1, format, args);
  strcat(log_text, "\n");
}

void slurm_error(const char* format, ...) {
  va_list args;

  errors++;
  va_start(args, format);
  add_line(format, args);
  va_end(args);
}

void slurm_verbose(const char* format, ...) {
  va_list args;

  va_start(args, format);
  add_line(format, args);
  va_end(args);
}

void slurm_info(const char* format, ...) {
  va_list args;

  va_start(args, format);
  add_line(format, args);
  va_end(args);
}

spank_context_t spank_context(void) {
  return fake.context;
}

spank_err_t spank_option_register(spank_t sp, struct spank_option* opt) {
  (void)sp;
  fake.option = opt;
  fake.registered++;
  return ESPANK_SUCCESS;
}

spank_err_t spank_get_item(spank_t sp, spank_item_t item, ...) {
  va_list args;

  (void)sp;
  if (fake.item_rc) return fake.item_rc;
  va_start(args, item);
  switch (item) {
    case S_JOB_UID:
      *va_arg(args, uid_t*) = fake.uid;
      break;
    case S_JOB_ID:
      *va_arg(args, uint32_t*) = fake.job_id;
      break;
    case S_JOB_STEPID:
      *va_arg(args, uint32_t*) = fake.step_id;
      break;
    case S_SLURM_RESTART_COUNT:
      *va_arg(args, uint32_t*) = fake.restarts;
      break;
    case S_TASK_GLOBAL_ID:
      *va_arg(args, uint32_t*) = fake.rank;
      break;
    case S_JOB_NODEID:
      *va_arg(args, uint32_t*) = fake.node;
      break;
    case S_TASK_ID:
      *va_arg(args, int*) = fake.task;
      break;
    case S_JOB_TOTAL_TASK_COUNT:
      *va_arg(args, uint32_t*) = fake.ranks;
      break;
    default:
      va_end(args);
      return ESPANK_BAD_ARG;
  }
  va_end(args);
  return ESPANK_SUCCESS;
}

spank_err_t spank_getenv(spank_t sp, const char* var, char* buf, int len) {
  const char* value = get(&job, var);

  (void)sp;
  if (!value) return ESPANK_ENV_NOEXIST;
  snprintf(buf, (size_t)len, "%s", value);
  return strlen(value) >= (size_t)len ? ESPANK_NOSPACE : ESPANK_SUCCESS;
}

spank_err_t spank_setenv(spank_t sp, const char* var, const char* val, int overwrite) {
  (void)sp;
  if (fake.setenv_rc) return fake.setenv_rc;
  if (!overwrite && get(&job, var)) return ESPANK_ENV_EXISTS;
  put(&job, var, val);
  return ESPANK_SUCCESS;
}

spank_err_t spank_unsetenv(spank_t sp, const char* var) {
  int i = find(&job, var);

  (void)sp;
  if (i >= 0) drop(&job, i);
  return ESPANK_SUCCESS;
}

spank_err_t spank_job_control_setenv(spank_t sp, const char* name, const char* value, int overwrite) {
  (void)sp;
  (void)overwrite;
  put(&record, name, value);
  return ESPANK_SUCCESS;
}

spank_err_t spank_job_control_unsetenv(spank_t sp, const char* name) {
  int i = find(&record, name);

  (void)sp;
  if (i >= 0) drop(&record, i);
  return ESPANK_SUCCESS;
}

/* A list of names between commas, or of prefix[from-to]. */
struct hostlist {
  char* names[8192];
  int count, next;
};

hostlist_t slurm_hostlist_create(const char* text) {
  hostlist_t list = calloc(1, sizeof(*list));
  char *copy = strdup(text), *save, prefix[64];
  int from, to;

  for (char* word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
    if (sscanf(word, "%63[^[][%d-%d]", prefix, &from, &to) == 3) {
      for (int i = from; i <= to; i++) {
        char name[96];

        snprintf(name, sizeof(name), "%s%d", prefix, i);
        list->names[list->count++] = strdup(name);
      }
    } else {
      list->names[list->count++] = strdup(word);
    }
  }
  free(copy);
  return list;
}

char* slurm_hostlist_shift(hostlist_t list) {
  return list->next < list->count ? list->names[list->next++] : NULL;
}

void slurm_hostlist_destroy(hostlist_t list) {
  while (list->next < list->count) free(list->names[list->next++]);
  free(list);
}
