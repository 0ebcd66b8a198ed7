/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SPANK plugin ml_quality: owns every exported hook and only dispatches on the
 * context, so that nothing written for a user's command runs as root.
 *
 * No hook returns an error once the job exists: a failure in a remote hook
 * would drain the node. Only the option's check in a user's command does.
 */
#include <slurm/spank.h>

#include "slurm-plugin/spank/contexts.h"
#include "slurm-plugin/spank/instance.h"
#include "slurm-plugin/spank/option.h"

SPANK_PLUGIN(ml_quality, 1)

int slurm_spank_init(spank_t sp, int ac, char **av)
{
	if (!instance_claim())
		return 0;

	switch (spank_context()) {
	case S_CTX_ALLOCATOR:
		option_register(sp);
		allocator_init();
		break;
	case S_CTX_LOCAL:
		option_register(sp);
		srun_init();
		break;
	case S_CTX_REMOTE:
		option_register(sp);
		break;
	case S_CTX_SLURMD:
		slurmd_init(ac, av);
		break;
	default:
		break;
	}
	return 0;
}

int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
	if (!instance_is_active())
		return 0;

	switch (spank_context()) {
	case S_CTX_ALLOCATOR:
		if (instance_first_call())
			option_publish_component(sp);
		instance_hide();
		break;
	case S_CTX_LOCAL:
		option_publish(sp);
		instance_hide();
		break;
	case S_CTX_REMOTE:
		remote_post_opt(sp, ac, av);
		break;
	default:
		break;
	}
	return 0;
}

int slurm_spank_local_user_init(spank_t sp, int ac, char **av)
{
	(void)sp;
	(void)ac;
	(void)av;
	if (instance_is_active() && spank_context() == S_CTX_LOCAL)
		srun_before_launch();
	return 0;
}

int slurm_spank_task_init(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	if (instance_is_active() && spank_context() == S_CTX_REMOTE)
		remote_task_init(sp);
	return 0;
}

int slurm_spank_exit(spank_t sp, int ac, char **av)
{
	(void)sp;
	(void)ac;
	(void)av;
	instance_release();
	return 0;
}
