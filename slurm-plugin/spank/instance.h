/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugstack.conf may name this plugin twice (an include, another path to a
 * copy). One instance of a process works; the others keep silent.
 */
#ifndef MLQ_SPANK_INSTANCE_H
#define MLQ_SPANK_INSTANCE_H

#include <stdbool.h>

/* True for the first call in a process only, whichever copy it comes from. */
extern bool instance_claim(void);

/* Whether this copy is the one that works. */
extern bool instance_is_active(void);

/*
 * Slurm calls a hook once for each line that names this copy: true for the
 * first of them, each time. For one hook of the plugin only.
 */
extern bool instance_first_call(void);

/* Removes the mark from the environment before it is handed to a job. */
extern void instance_hide(void);

/* The process unloads its plugins, and may load them again. */
extern void instance_release(void);

#endif
