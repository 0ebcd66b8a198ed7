# SPDX-License-Identifier: GPL-2.0-or-later
if HAVE_BENCHMARK
EXTRA_PROGRAMS += bench_quality
bench_quality_SOURCES = tests/bench/bench_quality.cpp
bench_quality_CPPFLAGS = $(AM_CPPFLAGS) $(BENCHMARK_CFLAGS)
bench_quality_LDADD = libmlqcore.la $(BENCHMARK_LIBS)
endif
EXTRA_DIST += tests/bench/prediction_tables.py
