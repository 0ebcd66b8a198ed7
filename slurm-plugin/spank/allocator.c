/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm-plugin/spank/contexts.h"
#include "slurm-plugin/spank/option.h"

void allocator_init(void)
{
	option_forget_inherited();
	option_adopt_twin();
}
