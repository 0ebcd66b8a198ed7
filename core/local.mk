# SPDX-License-Identifier: GPL-2.0-or-later
# The core: pure functions, no Slurm, no network, no clock, no globals.
noinst_LTLIBRARIES += libmlqcore.la

libmlqcore_la_CPPFLAGS = $(AM_CPPFLAGS) $(EIGEN_CFLAGS) $(JANSSON_CFLAGS) -DEIGEN_NO_IO
libmlqcore_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libmlqcore_la_CXXFLAGS = $(AM_CXXFLAGS) -fvisibility=hidden
libmlqcore_la_LIBADD = $(JANSSON_LIBS)
libmlqcore_la_SOURCES =

include core/request/local.mk
include core/quality/local.mk
include core/throughput/local.mk
include core/allocation/local.mk
include core/simulation/local.mk
include core/balance/local.mk
include core/token/local.mk
include core/wire/local.mk
