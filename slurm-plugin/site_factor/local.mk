# SPDX-License-Identifier: GPL-2.0-or-later
# A second, thin shim around the cycle of slurm-plugin/sched.
if WITH_SLURM_SRC
slurmlib_LTLIBRARIES += site_factor_ml_quality.la

site_factor_ml_quality_la_CPPFLAGS = $(shim_cppflags)
site_factor_ml_quality_la_CFLAGS = $(shim_cflags)
site_factor_ml_quality_la_LDFLAGS = $(shim_ldflags) \
	-Wl,--version-script=$(top_srcdir)/slurm-plugin/site_factor/site_factor_ml_quality.map
site_factor_ml_quality_la_LIBADD = libmlqcycle.la libmlqengine.la
site_factor_ml_quality_la_DEPENDENCIES = libmlqcycle.la libmlqengine.la \
	slurm-plugin/site_factor/site_factor_ml_quality.map
site_factor_ml_quality_la_SOURCES = \
	slurm-plugin/compat.h \
	slurm-plugin/site_factor/priority_shift.c slurm-plugin/site_factor/priority_shift.h \
	slurm-plugin/site_factor/site_factor_ml_quality.c
nodist_EXTRA_site_factor_ml_quality_la_SOURCES = slurm-plugin/site_factor/link_as_cxx.cpp
endif
dist_man_MANS += doc/man/site_factor_ml_quality.8
EXTRA_DIST += slurm-plugin/site_factor/site_factor_ml_quality.map
