# SPDX-License-Identifier: GPL-2.0-or-later
# Symbols of slurmctld are resolved when a plugin is loaded into it: lazily, as Slurm links its own plugins. A plugin
# stays mapped (nodelete): slurmctld may end it while its thread waits for one of slurmctld's locks.
if WITH_SLURM_SRC
shim_cppflags = $(AM_CPPFLAGS) -isystem $(SLURM_SRC) -DMLQ_VERSION=\"$(PACKAGE_VERSION)\"
shim_cflags = $(AM_CFLAGS) -fvisibility=hidden -fno-lto
shim_ldflags = $(AM_LDFLAGS) -module -avoid-version -Wl,-z,lazy -Wl,-z,nodelete

# the cycle: the same in each plugin that ranks
noinst_LTLIBRARIES += libmlqcycle.la
libmlqcycle_la_CPPFLAGS = $(shim_cppflags)
libmlqcycle_la_CFLAGS = $(shim_cflags)
libmlqcycle_la_SOURCES = \
	slurm-plugin/compat.h \
	slurm-plugin/sched/apply.c slurm-plugin/sched/apply.h \
	slurm-plugin/sched/attempt.c slurm-plugin/sched/attempt.h \
	slurm-plugin/sched/clock.h \
	slurm-plugin/sched/cluster.c slurm-plugin/sched/cluster.h \
	slurm-plugin/sched/cycle.c slurm-plugin/sched/cycle.h \
	slurm-plugin/sched/endings.c slurm-plugin/sched/endings.h \
	slurm-plugin/sched/gpu_request.c slurm-plugin/sched/gpu_request.h \
	slurm-plugin/sched/gpus.c slurm-plugin/sched/gpus.h \
	slurm-plugin/sched/het.c slurm-plugin/sched/het.h \
	slurm-plugin/sched/hold.h \
	slurm-plugin/sched/layout.c slurm-plugin/sched/layout.h \
	slurm-plugin/sched/mode_names.h \
	slurm-plugin/sched/node_shrink.c slurm-plugin/sched/node_shrink.h \
	slurm-plugin/sched/requeue.c slurm-plugin/sched/requeue.h \
	slurm-plugin/sched/resize.c slurm-plugin/sched/resize.h \
	slurm-plugin/sched/shim.h \
	slurm-plugin/sched/size_request.c slurm-plugin/sched/size_request.h \
	slurm-plugin/sched/snapshot.c slurm-plugin/sched/snapshot.h \
	slurm-plugin/sched/waiting.c slurm-plugin/sched/waiting.h

slurmlib_LTLIBRARIES += sched_ml_quality.la
sched_ml_quality_la_CPPFLAGS = $(shim_cppflags)
sched_ml_quality_la_CFLAGS = $(shim_cflags)
sched_ml_quality_la_LDFLAGS = $(shim_ldflags) \
	-Wl,--version-script=$(top_srcdir)/slurm-plugin/sched/sched_ml_quality.map
sched_ml_quality_la_LIBADD = libmlqcycle.la libmlqengine.la
sched_ml_quality_la_DEPENDENCIES = libmlqcycle.la libmlqengine.la slurm-plugin/sched/sched_ml_quality.map
sched_ml_quality_la_SOURCES = slurm-plugin/compat.h slurm-plugin/sched/sched_ml_quality.c
# never built: it makes automake link with the C++ compiler, which the engine needs
nodist_EXTRA_sched_ml_quality_la_SOURCES = slurm-plugin/sched/link_as_cxx.cpp
endif
EXTRA_DIST += slurm-plugin/sched/sched_ml_quality.map
