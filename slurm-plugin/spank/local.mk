# SPDX-License-Identifier: GPL-2.0-or-later
# C only: the plugin is loaded into sbatch, srun and slurmstepd.
spank_sources = \
	slurm-plugin/spank/allocator.c \
	slurm-plugin/spank/ask.c slurm-plugin/spank/ask.h \
	slurm-plugin/spank/config.c slurm-plugin/spank/config.h \
	slurm-plugin/spank/contexts.h \
	slurm-plugin/spank/cores.c slurm-plugin/spank/cores.h \
	slurm-plugin/spank/instance.c slurm-plugin/spank/instance.h \
	slurm-plugin/spank/job_env.c slurm-plugin/spank/job_env.h \
	slurm-plugin/spank/mint.c slurm-plugin/spank/mint.h \
	slurm-plugin/spank/node_speeds.c slurm-plugin/spank/node_speeds.h \
	slurm-plugin/spank/option.c slurm-plugin/spank/option.h \
	slurm-plugin/spank/remote.c \
	slurm-plugin/spank/reporting.c slurm-plugin/spank/reporting.h \
	slurm-plugin/spank/slurmd.c \
	slurm-plugin/spank/spank_ml_quality.c \
	slurm-plugin/spank/srun.c \
	core/request/batch_split.c \
	core/request/quality_request.c

dist_man_MANS += doc/man/spank_ml_quality.8 doc/man/sched_ml_quality.8
EXTRA_DIST += slurm-plugin/spank/spank_ml_quality.map slurm-plugin/spank/mint_module.map

if WITH_SPANK
# noseparate-code: two mappings fewer to copy in slurmstepd's fork of every task
slurmlib_LTLIBRARIES += spank_ml_quality.la spank_ml_quality_token.la
spank_ml_quality_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
spank_ml_quality_la_SOURCES = $(spank_sources) slurm-plugin/spank/mint_module_path.c
spank_ml_quality_la_LIBADD = libmlqkey.la
spank_ml_quality_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -Wl,-z,lazy -Wl,-z,noseparate-code \
	-Wl,--version-script=$(top_srcdir)/slurm-plugin/spank/spank_ml_quality.map
spank_ml_quality_la_DEPENDENCIES = libmlqkey.la $(top_srcdir)/slurm-plugin/spank/spank_ml_quality.map

spank_ml_quality_token_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
spank_ml_quality_token_la_SOURCES = slurm-plugin/spank/mint_module.c slurm-plugin/spank/mint.h
spank_ml_quality_token_la_LIBADD = libmlqtoken.la
spank_ml_quality_token_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared \
	-Wl,--version-script=$(top_srcdir)/slurm-plugin/spank/mint_module.map
spank_ml_quality_token_la_DEPENDENCIES = libmlqtoken.la $(top_srcdir)/slurm-plugin/spank/mint_module.map
endif
