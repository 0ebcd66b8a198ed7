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
if HAVE_BENCHMARK
if WITH_SPANK
EXTRA_PROGRAMS += bench_spank
bench_spank_SOURCES = tests/bench/bench_spank.cpp tests/unit/spank_stubs.c tests/unit/spank_stubs.h $(spank_sources)
bench_spank_CPPFLAGS = $(AM_CPPFLAGS) $(BENCHMARK_CFLAGS)
bench_spank_LDADD = libmlqtoken.la $(BENCHMARK_LIBS)
endif
endif
EXTRA_DIST += tests/bench/launch tests/bench/median_range.py tests/bench/contention/run tests/bench/contention/rank.py tests/bench/contention/contender.py
