/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm-plugin/spank/instance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Copies loaded from different paths share nothing but the environment. */
#define MARK "_MLQ_SPANK_PID"

static bool active;
/* Lines of plugstack.conf that name this copy, and calls of a hook for them. */
static unsigned int entries, calls;

bool instance_claim(void)
{
	const char *mark = getenv(MARK);
	char pid[24];

	entries++;
	snprintf(pid, sizeof(pid), "%ld", (long)getpid());
	if (active || (mark && !strcmp(mark, pid)))
		return false;
	active = true;
	setenv(MARK, pid, 1);
	return true;
}

bool instance_is_active(void)
{
	return active;
}

bool instance_first_call(void)
{
	return calls++ % (entries ? entries : 1) == 0;
}

void instance_hide(void)
{
	if (active)
		unsetenv(MARK);
}

void instance_release(void)
{
	instance_hide();
	active = false;
	entries = calls = 0;
}
