/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "slurm-plugin/sched/gpu_request.h"
#include "slurm-plugin/sched/size_request.h"

/*
 * An array's record of tasks that have not run yet stands for all of them. A
 * task that has run has a record of its own, and keeps it over a requeue.
 */
static bool _stands_for_tasks(job_record_t *job_ptr)
{
	if (job_ptr->array_recs && job_ptr->array_recs->task_id_bitmap)
		return true;
	return (job_ptr->array_task_id != NO_VAL) && IS_JOB_PENDING(job_ptr) &&
	       !job_ptr->restart_cnt;
}

/* Features joined by & alone do not say how many nodes have which. */
static bool _counts_features(const job_details_t *details)
{
	return (details->features && strpbrk(details->features, "|[]()*")) ||
	       (details->cluster_features && details->cluster_features[0]);
}

static const char *_refusal(job_record_t *job_ptr, mlq_size_request_t *out)
{
	const job_details_t *details = job_ptr->details;
	const char *gpus = mlq_gpus_asked(job_ptr, out);

	if (!job_ptr->batch_flag)
		return "it is no batch job";
	if (_stands_for_tasks(job_ptr))
		return "it is a job array, or a task of one that has not run";
	if (job_ptr->resv_name)
		return "it is in a reservation";
	if (job_ptr->fed_details)
		return "it is a federated job";
	if (details->req_nodes)
		return "it names nodes (--nodelist)";
	if (_counts_features(details))
		return "its --constraint says more than names joined by &";
	if (details->contiguous)
		return "it asks for contiguous nodes";
	if (details->overcommit)
		return "it overcommits CPUs";
	if (details->core_spec != NO_VAL16)
		return "it specialises cores or threads";
	if (details->expanding_jobid)
		return "it expands another job";
	if (details->max_cpus && (details->max_cpus != NO_VAL))
		return "it has a largest number of CPUs";
	return gpus;
}

/*
 * Limits of associations, QOS and partitions on what a job may have. There are
 * some hundred, so they are told by their names: those on the number of jobs,
 * on time and on what no job sized here asks for are none of them.
 */
static const char *_limit(job_record_t *job_ptr)
{
	static const char *const of[] = {"QOS", "Assoc", "Partition", "MaxMem"};
	static const char *const on[] = {"Cpu",	 "CPU",	    "Mem",    "Node",
					 "GRES", "Billing", "Energy", "Unknown",
					 "ResourceLimit"};
	const char *name = mlq_reason_name(job_ptr->state_reason);
	bool found = false;

	/* of one of its partitions, while it may wait for its turn in others */
	if (name && job_ptr->part_ptr_list && !strncmp(name, "Part", 4))
		return NULL;
	for (size_t i = 0; name && !found && (i < ARRAY_SIZE(of)); i++)
		found = !strncmp(name, of[i], strlen(of[i]));
	for (size_t i = 0; found && (i < ARRAY_SIZE(on)); i++)
		if (strstr(name, on[i]))
			return name;
	return NULL;
}

extern void mlq_size_request(job_record_t *job_ptr, mlq_size_request_t *out)
{
	const job_details_t *details = job_ptr->details;

	memset(out, 0, sizeof(*out));
	out->refusal = _refusal(job_ptr, out);
	out->cpus = details->min_cpus;
	out->tasks = details->num_tasks;
	out->cpus_per_task = 1;
	if (details->cpus_per_task && (details->cpus_per_task != NO_VAL16))
		out->cpus_per_task = details->cpus_per_task;
	if (details->ntasks_per_node != NO_VAL16)
		out->tasks_per_node = details->ntasks_per_node;
	if (details->pn_min_cpus < NO_VAL)
		out->cpus_per_node = details->pn_min_cpus;
	out->min_nodes = details->min_nodes;
	if (details->max_nodes != NO_VAL)
		out->max_nodes = details->max_nodes;
	out->whole_nodes = (details->whole_node == WHOLE_NODE_REQUIRED);
	out->memory_per_node = details->pn_min_memory &&
			       !(details->pn_min_memory & MEM_PER_CPU);
	out->several_partitions = job_ptr->part_ptr_list &&
				  (list_count(job_ptr->part_ptr_list) > 1);
	if (IS_JOB_PENDING(job_ptr))
		out->limit = _limit(job_ptr);
}
