/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of Slurm, as its libraries have them. */
#include "slurm-plugin/compat.h"

extern char *job_state_string(uint32_t state)
{
	return (state == JOB_COMPLETE) ? "COMPLETED" : "FAILED";
}

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 5, 0)
extern const char *job_state_reason_string(enum job_state_reason reason)
#else
extern char *job_reason_string(enum job_state_reason reason)
#endif
{
	switch (reason) {
	case WAIT_RESOURCES:
		return "Resources";
	case WAIT_PART_DOWN:
		return "PartitionDown";
	case WAIT_PART_NODE_LIMIT:
		return "PartitionNodeLimit";
	case WAIT_NODE_NOT_AVAIL:
		return "ReqNodeNotAvail";
	case WAIT_QOS_MAX_CPU_PER_JOB:
		return "QOSMaxCpuPerJobLimit";
	case WAIT_QOS_MAX_JOB_PER_USER:
		return "QOSMaxJobsPerUserLimit";
	case WAIT_QOS_MAX_WALL_PER_JOB:
		return "QOSMaxWallDurationPerJobLimit";
	case WAIT_QOS_MIN_CPU:
		return "QOSMinCpuNotSatisfied";
	case WAIT_ASSOC_GRP_GRES:
		return "AssocGrpGRES";
	case WAIT_ASSOC_GRP_CPU_MIN:
		return "AssocGrpCPUMinutesLimit";
	case WAIT_ASSOC_JOB_LIMIT:
		return "AssociationJobLimit";
	case WAIT_ASSOC_GRP_LIC:
		return "AssocGrpLicense";
	case WAIT_PN_MEM_LIMIT:
		return "MaxMemPerLimit";
	default:
		return "None";
	}
}
