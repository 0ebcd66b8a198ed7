# SPDX-License-Identifier: GPL-2.0-or-later
# Run in the build folder: it starts ./mlqd and stores on the disk of the working folder.
if HAVE_BENCHMARK
EXTRA_PROGRAMS += bench_mlqd
bench_mlqd_CPPFLAGS = $(AM_CPPFLAGS) $(BENCHMARK_CFLAGS) $(JANSSON_CFLAGS) $(SQLITE_CFLAGS) $(MHD_CFLAGS) $(CURL_CFLAGS)
bench_mlqd_CXXFLAGS = $(AM_CXXFLAGS) -pthread
bench_mlqd_LDFLAGS = $(AM_LDFLAGS) -pthread
bench_mlqd_SOURCES = tests/bench/bench_mlqd.cpp tests/bench/mlqd_process.cpp tests/bench/mlqd_process.hpp
bench_mlqd_LDADD = libmlqd.la $(BENCHMARK_LIBS) $(CURL_LIBS) $(JANSSON_LIBS)
endif
