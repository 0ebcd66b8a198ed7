# SPDX-License-Identifier: GPL-2.0-or-later
if HAVE_BENCHMARK
EXTRA_PROGRAMS += bench_allocation
bench_allocation_SOURCES = tests/bench/bench_allocation.cpp
bench_allocation_CPPFLAGS = $(AM_CPPFLAGS) $(BENCHMARK_CFLAGS)
bench_allocation_LDADD = libmlqcore.la $(BENCHMARK_LIBS)
endif
EXTRA_DIST += tests/bench/allocation-tables tests/bench/decision-time
