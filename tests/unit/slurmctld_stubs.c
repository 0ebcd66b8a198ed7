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

int stub_signals;
uint16_t stub_signal, stub_signal_flags;
uint32_t stub_signalled;

int stub_saves, stub_requeues, stub_requeue_rc, stub_warnings;
uint32_t stub_requeued;
uid_t stub_requeue_uid;

/* the nodes; records are larger than their number of interest here */
static node_record_t nodes[STUB_NODES], *node_table[STUB_NODES];
static config_record_t configs[STUB_NODES];
static part_record_t parts[STUB_PARTS];
static int part_count;
static int64_t bits[8192][2 + STUB_NODES / 64];
static int bits_used;
static struct job_resources held_by[STUB_JOBS];
static uint16_t held_cpus[STUB_JOBS][STUB_NODES];

static job_record_t jobs[STUB_JOBS];
static struct job_details details[STUB_JOBS];
static char env_text[STUB_JOBS][2048];
static char *env[STUB_JOBS][2];
static int job_count, partition_count;
static slurmctld_lock_t held;
static bool locked;

static step_record_t step;
static job_record_t *components[2];

/* slurmctld's own */
void *acct_db_conn = &jobs;
time_t last_job_update;
slurmctld_config_t slurmctld_config;
List job_list = (List) &job_count;
List part_list = (List) &part_count;
int node_record_count;
node_record_t **node_record_table_ptr = node_table;
bitstr_t *avail_node_bitmap;

extern void stub_reset(void)
{
	memset(jobs, 0, sizeof(jobs));
	memset(details, 0, sizeof(details));
	memset(&stub_end, 0, sizeof(stub_end));
	memset(&slurmctld_config, 0, sizeof(slurmctld_config));
	stub_saves = 0;
	job_count = stub_errors = stub_prios = stub_locks = 0;
	stub_purge_at = stub_stop_at = 0;
	stub_with_dbd = true;
	last_job_update = 0;
	locked = false;
	memset(nodes, 0, sizeof(nodes));
	memset(node_table, 0, sizeof(node_table));
	memset(configs, 0, sizeof(configs));
	memset(parts, 0, sizeof(parts));
	memset(bits, 0, sizeof(bits));
	memset(held_by, 0, sizeof(held_by));
	node_record_count = part_count = bits_used = 0;
	stub_lists_reset();
	avail_node_bitmap = NULL;
	stub_signals = 0;
}

extern bitstr_t *stub_bits(const int *set)
{
	int64_t *map = bits[bits_used++];

	map[0] = STUB_NODES;
	for (; *set >= 0; set++)
		map[1 + *set / 64] |= (int64_t) (1ULL << (*set % 64));
	return map;
}

extern int bit_test(bitstr_t *b, bitoff_t bit)
{
	ck_assert(bit >= 0 && bit < b[0]);
	return ((uint64_t) b[1 + bit / 64] >> (bit % 64)) & 1;
}

extern bitoff_t bit_ffs(bitstr_t *b)
{
	for (int n = 0; n < b[0]; n++)
		if (bit_test(b, n))
			return n;
	return -1;
}

extern bitoff_t bit_fls(bitstr_t *b)
{
	for (int n = b[0] - 1; n >= 0; n--)
		if (bit_test(b, n))
			return n;
	return -1;
}

extern void stub_add_nodes(int count, uint16_t cpus)
{
	int all[STUB_NODES + 1], n;

	for (n = 0; n < count; n++) {
		all[n] = n;
		node_table[n] = &nodes[n];
		nodes[n].magic = NODE_MAGIC;
		nodes[n].config_ptr = &configs[n];
		configs[n].magic = CONFIG_MAGIC;
		nodes[n].cpus = nodes[n].cpus_efctv = cpus;
		nodes[n].node_state = NODE_STATE_IDLE;
		nodes[n].owner = NO_VAL;
	}
	all[n] = -1;
	node_record_count = count;
	avail_node_bitmap = stub_bits(all);
	part_count = 1;
	parts[0].magic = PART_MAGIC;
	parts[0].name = "main";
	parts[0].state_up = PARTITION_UP;
	parts[0].max_share = 1;
	parts[0].node_bitmap = stub_bits(all);
}

extern node_record_t *stub_node(int index)
{
	return &nodes[index];
}

extern part_record_t *stub_part(int index)
{
	if (index >= part_count) {
		part_count = index + 1;
		parts[index] = parts[0];
	}
	return &parts[index];
}

extern void stub_run(job_record_t *job_ptr, const int *on, uint16_t cpus)
{
	int i = job_ptr - jobs;

	job_ptr->job_state = JOB_RUNNING;
	job_ptr->job_resrcs = &held_by[i];
	job_ptr->node_bitmap = stub_bits(on);
	held_by[i].node_bitmap = job_ptr->node_bitmap;
	held_by[i].cpus = held_cpus[i];
	for (; *on >= 0; on++) {
		held_cpus[i][held_by[i].nhosts++] = cpus;
		job_ptr->total_nodes++;
		job_ptr->total_cpus += cpus;
	}
}

extern int job_requeue(uid_t uid, uint32_t job_id, slurm_msg_t *msg,
		       bool preempt, uint32_t flags)
{
	ck_assert(locked && held.job == WRITE_LOCK && held.node == WRITE_LOCK);
	ck_assert(held.fed == READ_LOCK && !msg && !preempt);
	ck_assert_uint_eq(flags, 0); /* never held */
	stub_requeues++;
	stub_requeued = job_id;
	stub_requeue_uid = uid;
	return stub_requeue_rc;
}

extern void send_job_warn_signal(job_record_t *job_ptr, bool ignore_time)
{
	ck_assert(locked && held.job == WRITE_LOCK && ignore_time);
	stub_warnings++;
	stub_signalled = job_ptr->job_id;
}

extern void schedule_job_save(void)
{
	ck_assert(!locked);
	stub_saves++;
}

extern void schedule_node_save(void)
{
	ck_assert(!locked);
}

extern void stub_het(job_record_t *leader, job_record_t *second)
{
	components[0] = leader;
	components[1] = second;
	leader->het_job_list = (List) components;
	leader->het_job_id = second->het_job_id = leader->job_id;
	leader->het_job_offset = 0;
	second->het_job_offset = 1;
}

extern List stub_step(uint32_t step_id)
{
	step.step_id.step_id = step_id;
	return (List) &step;
}

extern int job_signal(job_record_t *job_ptr, uint16_t signal, uint16_t flags,
		      uid_t uid, bool preempt)
{
	ck_assert(locked && held.job == WRITE_LOCK && held.node == WRITE_LOCK);
	ck_assert(!uid && !preempt);
	stub_signals++;
	stub_signal = signal;
	stub_signal_flags = flags;
	stub_signalled = job_ptr->job_id;
	return SLURM_SUCCESS;
}

extern int get_log_level(void)
{
	return LOG_LEVEL_QUIET;
}

extern void log_var(const log_level_t level, const char *fmt, ...)
{
	(void) level;
	(void) fmt;
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
	return *(int *) l;
}

extern int list_for_each_ro(List l, ListForF f, void *arg)
{
	ck_assert(locked && held.job != NO_LOCK);
	if (l == part_list) {
		ck_assert(held.part != NO_LOCK);
		for (int i = 0; i < part_count; i++) {
			if (f(&parts[i], arg) < 0)
				return -1;
		}
		return part_count;
	}
	if (stub_is_list(l))
		return stub_walk_list(l, f, arg);
	if (l == (List) &step)
		return (f(&step, arg) < 0) ? -1 : 1;
	if (l == (List) components)
		return ((f(components[0], arg) < 0) ||
			(f(components[1], arg) < 0)) ? -1 : 2;
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
