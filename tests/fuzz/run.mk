# SPDX-License-Identifier: GPL-2.0-or-later
# Built in a tree that is configured with clang.
EXTRA_PROGRAMS += fuzz_run
fuzz_run_SOURCES = tests/fuzz/fuzz_run.cpp tools/mlq/run/message.cpp tools/mlq/run/companion_plan.cpp core/wire/wire.cpp
fuzz_run_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
fuzz_run_CXXFLAGS = $(AM_CXXFLAGS) -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
fuzz_run_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer,address,undefined
fuzz_run_LDADD = $(JANSSON_LIBS)
EXTRA_DIST += tests/fuzz/corpus/run
