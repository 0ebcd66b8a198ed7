# SPDX-License-Identifier: GPL-2.0-or-later
include slurm-plugin/engine/local.mk
include slurm-plugin/sched/local.mk
include slurm-plugin/site_factor/local.mk
include slurm-plugin/spank/local.mk
