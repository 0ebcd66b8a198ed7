# SPDX-License-Identifier: GPL-2.0-or-later
if HAVE_BENCHMARK
EXTRA_PROGRAMS += bench_balance
bench_balance_SOURCES = tests/bench/bench_balance.cpp
bench_balance_CPPFLAGS = $(AM_CPPFLAGS) $(BENCHMARK_CFLAGS)
bench_balance_LDADD = libmlqcore.la $(BENCHMARK_LIBS)
EXTRA_PROGRAMS += bench_balance_exchange
bench_balance_exchange_SOURCES = tests/bench/bench_balance_exchange.cpp
bench_balance_exchange_CPPFLAGS = $(AM_CPPFLAGS) $(BENCHMARK_CFLAGS)
bench_balance_exchange_CXXFLAGS = $(AM_CXXFLAGS) -pthread
bench_balance_exchange_LDADD = libmlqbalance.la $(BENCHMARK_LIBS)
endif
