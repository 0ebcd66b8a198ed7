/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of a test, as Slurm's are walked. */
#include <check.h>

#include "tests/unit/slurmctld_stubs.h"

#define LISTS 32

static stub_list_t lists[LISTS];
static size_t used;

extern List stub_list(const stub_list_t *list)
{
	ck_assert_uint_lt(used, LISTS);
	lists[used] = *list;
	return (List) &lists[used++];
}

extern bool stub_is_list(List l)
{
	size_t i = 0;

	while (i < used && l != (List) &lists[i])
		i++;
	return i < used;
}

extern int stub_walk_list(List l, ListForF f, void *arg)
{
	stub_list_t *list = (stub_list_t *) l;

	for (int i = 0; i < list->count; i++)
		if (f(list->entries[i], arg) < 0)
			return -1;
	return list->count;
}

extern void stub_lists_reset(void)
{
	used = 0;
}
