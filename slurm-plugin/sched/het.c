/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "slurm-plugin/sched/het.h"
#include "slurm-plugin/sched/layout.h"

extern job_record_t *mlq_het_leader(job_record_t *job_ptr)
{
	job_record_t *leader;

	if (!job_ptr->het_job_id)
		return job_ptr;
	leader = find_job_record(job_ptr->het_job_id);
	if (!leader || (leader->magic != JOB_MAGIC) || !leader->het_job_list ||
	    (leader->het_job_id != leader->job_id))
		return NULL;
	return leader;
}

typedef struct {
	job_record_t *leader;
	mlq_component_fn is_so;
	void *arg;
	bool all;
} walk_t;

static int _look(void *x, void *arg)
{
	job_record_t *job_ptr = x;
	walk_t *walk = arg;

	walk->all = !mlq_layout_fault(job_ptr) && job_ptr->details &&
		    (job_ptr->het_job_id == walk->leader->het_job_id) &&
		    walk->is_so(job_ptr, walk->arg);
	return walk->all ? 0 : -1;
}

extern bool mlq_het_all(job_record_t *leader, mlq_component_fn is_so, void *arg)
{
	walk_t walk = {
		.leader = leader, .is_so = is_so, .arg = arg, .all = true};

	if (!leader->het_job_list)
		return is_so(leader, arg);
	list_for_each_ro(leader->het_job_list, _look, &walk);
	return walk.all;
}

static bool _is_requeueable(job_record_t *job_ptr, void *arg)
{
	(void)arg;
	return job_ptr->batch_flag && job_ptr->details->requeue &&
	       !(job_ptr->het_job_id && job_ptr->fed_details);
}

extern bool mlq_het_requeueable(job_record_t *job_ptr)
{
	job_record_t *leader = mlq_het_leader(job_ptr);

	return leader && mlq_het_all(leader, _is_requeueable, NULL);
}

static bool _add_cpus(job_record_t *job_ptr, void *arg)
{
	uint32_t *sum = arg;
	uint32_t cpus = IS_JOB_PENDING(job_ptr) ? job_ptr->details->min_cpus
						: job_ptr->total_cpus;

	if (cpus < NO_VAL)
		*sum += cpus;
	return true;
}

extern void mlq_het_fill(job_record_t *job_ptr, mlq_job_snapshot_t *out)
{
	job_record_t *leader = mlq_het_leader(job_ptr);

	out->requeue = mlq_het_requeueable(job_ptr);
	if (!job_ptr->het_job_id)
		return;
	out->het_job_id = job_ptr->het_job_id;
	out->het_offset = job_ptr->het_job_offset;
	if (leader)
		mlq_het_all(leader, _add_cpus, &out->het_cores);
}

/* Until when Slurm keeps it back, the last of several components. */
static bool _waits(job_record_t *job_ptr, void *arg)
{
	time_t *eligible = arg;

	*eligible = MAX(*eligible, job_ptr->details->begin_time);
	return IS_JOB_PENDING(job_ptr) && job_ptr->priority &&
	       !(job_ptr->job_state & JOB_STATE_FLAGS);
}

extern bool mlq_het_unseen(job_record_t *job_ptr, time_t now)
{
	job_record_t *leader = mlq_het_leader(job_ptr);
	time_t eligible = 0;

	return job_ptr->het_job_id && job_ptr->restart_cnt && leader &&
	       mlq_het_all(leader, _waits, &eligible) && (eligible <= now) &&
	       (last_job_update < eligible);
}

extern const char *mlq_het_variable(const job_record_t *job_ptr,
				    const char *name,
				    char text[MLQ_HET_NAME_MAX])
{
	if (!job_ptr->het_job_id)
		return name;
	snprintf(text, MLQ_HET_NAME_MAX, "%s_HET_GROUP_%u", name,
		 job_ptr->het_job_offset);
	return text;
}
