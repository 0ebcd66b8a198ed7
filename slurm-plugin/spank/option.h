/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --ml-quality[=key=value,...] and its twin in the environment, ML_QUALITY=. */
#ifndef MLQ_SPANK_OPTION_H
#define MLQ_SPANK_OPTION_H

#include <slurm/spank.h>

#define OPTION_TWIN "ML_QUALITY"

/*
 * Slurm's own names for the option's value: in the job record (and in the
 * environment of a launched process), and where a user's command looks for it
 * before it reads its command line.
 */
#define OPTION_RECORD "_SLURM_SPANK_OPTION_ml_quality_ml_quality"
#define OPTION_DEFAULT "SLURM_SPANK_" OPTION_RECORD

/* To be called in slurm_spank_init of every context with jobs. */
extern void option_register(spank_t sp);

/* The value given last, "" without one; NULL if the option wasn't given. */
extern const char *option_value(void);

/*
 * User's command, before options are read: the twin becomes the default, an
 * empty one means "off".
 */
extern void option_adopt_twin(void);

/* User's command: what an enclosing job was given isn't ours. */
extern void option_forget_inherited(void);

/*
 * User's command, after options are read: puts the value into the job record
 * and keeps the twin from the job, for whatever the job itself submits.
 */
extern void option_publish(spank_t sp);

/*
 * The same for sbatch and salloc, which call it for each component of a
 * heterogeneous job: the option is that one's alone, though Slurm would hand it
 * on to those behind.
 */
extern void option_publish_component(spank_t sp);

#endif
