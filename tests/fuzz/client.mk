# SPDX-License-Identifier: GPL-2.0-or-later
# Built in a tree that is configured with clang.
EXTRA_PROGRAMS += fuzz_watch
fuzz_watch_SOURCES = tests/fuzz/fuzz_watch.cpp tools/mlq/log_line.cpp tools/mlq/log_tail.cpp tools/mlq/format.cpp \
	core/wire/wire.cpp
fuzz_watch_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
fuzz_watch_CXXFLAGS = $(AM_CXXFLAGS) -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
fuzz_watch_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer,address,undefined
fuzz_watch_LDADD = $(JANSSON_LIBS)
EXTRA_DIST += tests/fuzz/corpus/watch
