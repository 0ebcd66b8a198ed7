/* SPDX-License-Identifier: GPL-2.0-or-later */
/* update_job() of a test's slurmctld, and what its callers need. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* vasprintf() */
#endif
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/slurmctld_stubs.h"

int stub_updates, stub_update_rc;
job_desc_msg_t stub_update;
uid_t stub_update_uid;

/* the caller frees its own */
static char *_kept(int which, const char *text)
{
	static char texts[3][64];

	if (!text)
		return NULL;
	snprintf(texts[which], sizeof(texts[which]), "%s", text);
	return texts[which];
}

extern int update_job(slurm_msg_t *msg, uid_t uid, bool send_msg)
{
	stub_updates++;
	stub_update = *(job_desc_msg_t *) msg->data;
	stub_update.tres_per_job = _kept(0, stub_update.tres_per_job);
	stub_update.tres_per_node = _kept(1, stub_update.tres_per_node);
	stub_update.tres_per_task = _kept(2, stub_update.tres_per_task);
	stub_update_uid = uid;
	return send_msg ? SLURM_ERROR : stub_update_rc;
}

extern void slurm_init_job_desc_msg(job_desc_msg_t *desc)
{
	memset(desc, 0, sizeof(*desc));
	desc->num_tasks = desc->min_cpus = NO_VAL;
	desc->min_nodes = desc->max_nodes = NO_VAL;
	desc->pn_min_memory = NO_VAL64;
	desc->cpus_per_task = desc->pn_min_cpus = NO_VAL16;
}

extern void slurm_msg_t_init(slurm_msg_t *msg)
{
	memset(msg, 0, sizeof(*msg));
}

extern char *slurm_strerror(int errnum)
{
	(void) errnum;
	return "refused";
}

extern int xstrncmp(const char *s1, const char *s2, size_t n)
{
	return (s1 && s2) ? strncmp(s1, s2, n) : (s1 != s2);
}

extern char *xstrdup_printf(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	return text;
}

extern void *slurm_xrecalloc(void **item, size_t count, size_t size, bool clear,
			     bool try, const char *file, int line,
			     const char *func)
{
	void *grown = realloc(*item, count * size);

	(void) try;
	(void) file;
	(void) line;
	(void) func;
	if (!grown)
		abort();
	if (clear) /* only ever one more than before */
		memset((char *) grown + (count - 1) * size, 0, size);
	*item = grown;
	return grown;
}

/* Of the one block that is asked about: priorities in three partitions. */
extern size_t xsize(void *item)
{
	(void) item;
	return 3 * sizeof(uint32_t);
}
