# SPDX-License-Identifier: GPL-2.0-or-later
if HAVE_BENCHMARK
EXTRA_PROGRAMS += bench_request
bench_request_SOURCES = tests/bench/bench_request.cpp
bench_request_CPPFLAGS = $(AM_CPPFLAGS) $(BENCHMARK_CFLAGS)
bench_request_LDADD = libmlqcore.la libmlqtoken.la $(BENCHMARK_LIBS)
endif
