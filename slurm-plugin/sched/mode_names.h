/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The configuration's values as slurm.conf has them. */
#ifndef MLQ_SCHED_MODE_NAMES_H
#define MLQ_SCHED_MODE_NAMES_H

#include "slurm-plugin/engine/engine.h"

static inline const char *mlq_mode_name(mlq_mode_t mode)
{
	switch (mode) {
	case MLQ_MODE_OFF:
		return "off";
	case MLQ_MODE_DRY_RUN:
		return "dry-run";
	case MLQ_MODE_ACTIVE:
		break;
	}
	return "active";
}

static inline const char *mlq_resize_name(mlq_resize_mode_t mode)
{
	switch (mode) {
	case MLQ_RESIZING_OFF:
		return "off";
	case MLQ_RESIZING_REQUEUE:
		return "requeue";
	case MLQ_RESIZING_ALL:
		return "all";
	case MLQ_RESIZING_COMPANION:
		break;
	}
	return "companion";
}

#endif
