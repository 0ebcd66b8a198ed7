# SPDX-License-Identifier: GPL-2.0-or-later
if HAVE_BENCHMARK
EXTRA_PROGRAMS += bench_client
bench_client_CPPFLAGS = $(AM_CPPFLAGS) $(BENCHMARK_CFLAGS) $(MHD_CFLAGS) $(JANSSON_CFLAGS)
bench_client_SOURCES = tests/bench/bench_client.cpp tests/unit/report_server.c
bench_client_LDADD = libmlq.la $(BENCHMARK_LIBS) $(JANSSON_LIBS) $(MHD_LIBS) -lpthread
endif
