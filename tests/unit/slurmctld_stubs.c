/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "slurm-plugin/sched/shim.h"
#include "tests/unit/slurmctld_stubs.h"

#define SUBMIT 1790000000

stub_end_t stub_end;
int stub_errors, stub_prios, stub_locks;
bool stub_with_dbd;
int stub_purge_at, stub_stop_at;

static job_record_t jobs[STUB_JOBS];
static struct job_details details[STUB_JOBS];
static char env_text[STUB_JOBS][2048];
static char *env[STUB_JOBS][2];
static int job_count, partition_count;
static slurmctld_lock_t held;
static bool locked;

/* slurmctld's own */
void *acct_db_conn = &jobs;
time_t last_job_update;
slurmctld_config_t slurmctld_config;
List job_list = (List) &job_count;

extern void stub_reset(void)
{
	memset(jobs, 0, sizeof(jobs));
	memset(details, 0, sizeof(details));
	memset(&stub_end, 0, sizeof(stub_end));
	memset(&slurmctld_config, 0, sizeof(slurmctld_config));
	job_count = stub_errors = stub_prios = stub_locks = 0;
	stub_purge_at = stub_stop_at = 0;
	stub_with_dbd = true;
	last_job_update = 0;
	locked = false;
}

extern List stub_partitions(int count)
{
	partition_count = count;
	return (List) &partition_count;
}

extern job_record_t *stub_add(uint32_t job_id, const char *request)
{
	job_record_t *job_ptr = &jobs[job_count];

	job_ptr->magic = JOB_MAGIC;
	job_ptr->job_id = job_id;
	job_ptr->job_state = JOB_PENDING;
	job_ptr->priority = 1000;
	job_ptr->site_factor = NICE_OFFSET;
	job_ptr->db_index = 7;
	job_ptr->details = &details[job_count];
	job_ptr->details->magic = DETAILS_MAGIC;
	job_ptr->details->submit_time = SUBMIT;
	job_ptr->details->min_cpus = 4;
	job_ptr->details->min_nodes = 1;
	env[job_count][0] = "SPANK_OTHER=1";
	snprintf(env_text[job_count], sizeof(env_text[0]),
		 "_SLURM_SPANK_OPTION_ml_quality_ml_quality=%s",
		 request ? request : "");
	env[job_count][1] = env_text[job_count];
	job_ptr->spank_job_env = env[job_count];
	job_ptr->spank_job_env_size = request ? 2 : 1;
	job_count++;
	return job_ptr;
}

extern void lock_slurmctld(slurmctld_lock_t lock_levels)
{
	ck_assert_msg(!locked, "a lock inside a lock");
	if (stub_purge_at && (stub_locks + 1 == stub_purge_at))
		memmove(jobs, jobs + 1, --job_count * sizeof(jobs[0]));
	locked = true;
	held = lock_levels;
	stub_locks++;
}

extern void unlock_slurmctld(slurmctld_lock_t lock_levels)
{
	ck_assert(locked && !memcmp(&held, &lock_levels, sizeof(held)));
	locked = false;
}

extern job_record_t *find_job_record(uint32_t job_id)
{
	ck_assert(locked && held.job != NO_LOCK);
	for (int i = 0; i < job_count; i++) {
		if (jobs[i].job_id == job_id)
			return &jobs[i];
	}
	return NULL;
}

extern int list_count(List l)
{
	ck_assert((l == job_list) || (l == (List) &partition_count));
	return (l == job_list) ? job_count : partition_count;
}

extern int list_for_each_ro(List l, ListForF f, void *arg)
{
	ck_assert(locked && held.job != NO_LOCK);
	ck_assert(l == job_list);
	for (int i = 0; i < job_count; i++) {
		if (f(&jobs[i], arg) < 0)
			return -1;
	}
	return job_count;
}

extern void set_job_prio(job_record_t *job_ptr)
{
	ck_assert(locked && held.job == WRITE_LOCK);
	stub_prios++;
	job_ptr->priority = 1000 + job_ptr->site_factor - NICE_OFFSET;
}

/* of the plugin */
const char plugin_type[] = "test/ml_quality";

extern void mlq_set_site_factor(job_record_t *job_ptr, uint32_t site_factor)
{
	job_ptr->site_factor = site_factor;
	set_job_prio(job_ptr);
}

extern bool mlq_stopping(void)
{
	return (stub_stop_at && (stub_locks >= stub_stop_at)) ||
	       slurmctld_config.shutdown_time;
}

extern int jobacct_storage_g_job_complete(void *db_conn, job_record_t *job_ptr)
{
	ck_assert(locked && held.job == WRITE_LOCK);
	ck_assert_ptr_eq(db_conn, acct_db_conn);
	stub_end.count++;
	stub_end.job_id = job_ptr->job_id;
	stub_end.exit_code = job_ptr->exit_code;
	stub_end.derived_ec = job_ptr->derived_ec;
	stub_end.end_time = job_ptr->end_time;
	stub_end.job_state = job_ptr->job_state;
	stub_end.had_comment = job_ptr->comment;
	stub_end.had_tres = job_ptr->tres_alloc_str;
	snprintf(stub_end.admin_comment, sizeof(stub_end.admin_comment), "%s",
		 job_ptr->admin_comment);
	return SLURM_SUCCESS;
}

extern bool slurm_with_slurmdbd(void)
{
	return stub_with_dbd;
}

extern char *job_state_string(uint32_t state)
{
	return (state == JOB_COMPLETE) ? "COMPLETED" : "FAILED";
}

extern int error(const char *fmt, ...)
{
	(void) fmt;
	stub_errors++;
	return 0;
}

extern int xstrcmp(const char *s1, const char *s2)
{
	if (!s1 || !s2)
		return s1 ? 1 : (s2 ? -1 : 0);
	return strcmp(s1, s2);
}

extern char *xstrdup(const char *str)
{
	return str ? strdup(str) : NULL;
}

extern void slurm_xfree(void **item)
{
	free(*item);
	*item = NULL;
}
