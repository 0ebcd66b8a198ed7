# SPDX-License-Identifier: GPL-2.0-or-later
# Built in a tree that is configured with clang.
EXTRA_PROGRAMS += fuzz_request
fuzz_request_SOURCES = tests/fuzz/fuzz_request.c core/request/quality_request.c core/request/batch_split.c
fuzz_request_CFLAGS = $(AM_CFLAGS) -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
fuzz_request_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer,address,undefined
EXTRA_DIST += tests/fuzz/corpus/request
