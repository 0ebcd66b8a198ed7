# SPDX-License-Identifier: GPL-2.0-or-later
# Symbols of slurmctld are resolved when the plugin is loaded into it: lazily, as Slurm links its own plugins.
if WITH_SLURM_SRC
slurmlib_LTLIBRARIES += sched_ml_quality.la

sched_ml_quality_la_CPPFLAGS = $(AM_CPPFLAGS) -isystem $(SLURM_SRC) -DMLQ_VERSION=\"$(PACKAGE_VERSION)\"
sched_ml_quality_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden -fno-lto
sched_ml_quality_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -Wl,-z,lazy \
	-Wl,--version-script=$(top_srcdir)/slurm-plugin/sched/sched_ml_quality.map
sched_ml_quality_la_LIBADD = libmlqengine.la
sched_ml_quality_la_DEPENDENCIES = libmlqengine.la slurm-plugin/sched/sched_ml_quality.map
sched_ml_quality_la_SOURCES = \
	slurm-plugin/compat.h \
	slurm-plugin/sched/apply.c slurm-plugin/sched/apply.h \
	slurm-plugin/sched/clock.h \
	slurm-plugin/sched/cycle.c slurm-plugin/sched/cycle.h \
	slurm-plugin/sched/layout.c slurm-plugin/sched/layout.h \
	slurm-plugin/sched/sched_ml_quality.c \
	slurm-plugin/sched/snapshot.c slurm-plugin/sched/snapshot.h
# never built: it makes automake link with the C++ compiler, which the engine needs
nodist_EXTRA_sched_ml_quality_la_SOURCES = slurm-plugin/sched/link_as_cxx.cpp
endif
EXTRA_DIST += slurm-plugin/sched/sched_ml_quality.map
