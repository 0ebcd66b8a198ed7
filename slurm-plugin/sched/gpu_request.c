/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "slurm-plugin/sched/gpu_request.h"

#define GRES "gres" /* what is not said of generic resources has another name */

typedef struct {
	const gres_job_state_t *gres_js;
	bool others;
} asked_walk_t;

static int _note_asked(void *x, void *arg)
{
	gres_state_t *gres_state = x;
	asked_walk_t *walk = arg;

	if ((gres_state->state_type != GRES_STATE_TYPE_JOB) ||
	    xstrcmp(gres_state->gres_name, "gpu") || walk->gres_js)
		walk->others = true;
	else
		walk->gres_js = gres_state->gres_data;
	return 0;
}

/* Where the number at the end of it begins; its end when there is none. */
static size_t _number(const char *text)
{
	size_t end = strlen(text), at = end;

	while (at && isdigit((unsigned char) text[at - 1]))
		at--;
	return (at && strchr(":=", text[at - 1])) ? at : end;
}

extern char *mlq_gpus_text(const char *text, uint32_t gpus)
{
	size_t at = _number(text);

	return xstrdup_printf("%.*s%s%u", (int) at, text,
			      text[at] ? "" : ":", gpus);
}

/* It says so many, or none where one is meant. */
static bool _says(const char *text, uint64_t gpus)
{
	const char *number = text + _number(text);

	if (strchr(text, ','))
		return false;
	return *number ? (strtoull(number, NULL, 10) == gpus) : (gpus == 1);
}

static char **_said_of(job_record_t *job_ptr, mlq_gpus_of_t of)
{
	switch (of) {
	case MLQ_GPUS_OF_JOB:
		return &job_ptr->tres_per_job;
	case MLQ_GPUS_OF_NODE:
		return &job_ptr->tres_per_node;
	default:
		return &job_ptr->tres_per_task;
	}
}

static uint64_t _count_of(const gres_job_state_t *gres_js, mlq_gpus_of_t of)
{
	switch (of) {
	case MLQ_GPUS_OF_JOB:
		return gres_js->gres_per_job;
	case MLQ_GPUS_OF_NODE:
		return gres_js->gres_per_node;
	default:
		return gres_js->gres_per_task;
	}
}

/* MLQ_GPUS_NONE when it is said in several ways. */
static mlq_gpus_of_t _find_said(job_record_t *job_ptr)
{
	mlq_gpus_of_t found = MLQ_GPUS_NONE;

	for (mlq_gpus_of_t of = MLQ_GPUS_OF_JOB; of <= MLQ_GPUS_OF_TASK; of++) {
		const char *text = *_said_of(job_ptr, of);

		if (!text || !strstr(text, GRES))
			continue;
		if (found != MLQ_GPUS_NONE)
			return MLQ_GPUS_NONE;
		found = of;
	}
	return found;
}

extern const char *mlq_gpus_asked(job_record_t *job_ptr,
				  mlq_size_request_t *out)
{
	asked_walk_t walk = {.gres_js = NULL};
	const gres_job_state_t *gres_js;
	uint64_t count;

	if (!job_ptr->gres_list_req || !list_count(job_ptr->gres_list_req))
		return NULL;
	list_for_each_ro(job_ptr->gres_list_req, _note_asked, &walk);
	gres_js = walk.gres_js;
	if (walk.others || !gres_js)
		return "it asks for other generic resources than GPUs of one "
		       "type";
	if (gres_js->gres_per_socket)
		return "it asks for GPUs by socket";
	if (gres_js->ntasks_per_gres && (gres_js->ntasks_per_gres != NO_VAL16))
		return "it asks for tasks by GPU (--ntasks-per-gpu)";
	if (gres_js->mem_per_gres)
		return "it asks for memory by GPU (--mem-per-gpu)";
	out->gpus_of = _find_said(job_ptr);
	if (out->gpus_of == MLQ_GPUS_NONE)
		return "it says in several ways how many GPUs it asks for";
	count = _count_of(gres_js, out->gpus_of);
	if (!count || (count > UINT16_MAX) ||
	    !_says(*_said_of(job_ptr, out->gpus_of), count))
		return "it is not clear how many GPUs it asks for";
	out->gpus = count;
	out->cpus_per_gpu = gres_js->cpus_per_gres;
	return NULL;
}

extern void mlq_gpus_ask(job_record_t *job_ptr, mlq_gpus_of_t of, uint32_t gpus,
			 job_desc_msg_t *desc)
{
	char *text = mlq_gpus_text(*_said_of(job_ptr, of), gpus);

	switch (of) {
	case MLQ_GPUS_OF_JOB:
		desc->tres_per_job = text;
		break;
	case MLQ_GPUS_OF_NODE:
		desc->tres_per_node = text;
		break;
	default:
		desc->tres_per_task = text;
		/* what Slurm made of it for the tasks that there were */
		desc->tres_per_job = xstrdup("");
		break;
	}
}

extern char *mlq_gpus_variable(job_record_t *job_ptr, mlq_gpus_of_t of,
			       uint32_t gpus)
{
	char *text = mlq_gpus_text(*_said_of(job_ptr, of), gpus);
	const char *name = strstr(text, "gpu");
	char *value;

	/* there is a number behind it at least */
	value = name ? xstrdup(name + sizeof("gpu")) :
		       xstrdup_printf("%u", gpus);
	xfree(text);
	return value;
}

/* Slurm keeps the texts of an update that it made. */
extern void mlq_gpus_ask_done(job_record_t *job_ptr, job_desc_msg_t *desc)
{
	xfree(desc->tres_per_job);
	xfree(desc->tres_per_node);
	xfree(desc->tres_per_task);
	if (job_ptr->tres_per_job && !job_ptr->tres_per_job[0])
		xfree(job_ptr->tres_per_job);
}
