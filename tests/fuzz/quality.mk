# SPDX-License-Identifier: GPL-2.0-or-later
# fuzz_quality: built in a tree that is configured with clang. fuzz_quality_run: the same checks in any tree.
fuzz_quality_core = \
	core/quality/curve.cpp core/quality/family_fit.cpp core/quality/history.cpp core/quality/portfolio.cpp \
	core/quality/prediction.cpp core/quality/trend_bank.cpp core/quality/window.cpp

EXTRA_PROGRAMS += fuzz_quality
fuzz_quality_SOURCES = tests/fuzz/fuzz_quality.cpp $(fuzz_quality_core)
fuzz_quality_CPPFLAGS = $(AM_CPPFLAGS) $(EIGEN_CFLAGS)
fuzz_quality_CXXFLAGS = $(AM_CXXFLAGS) -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
fuzz_quality_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer,address,undefined

check_PROGRAMS += fuzz_quality_run
fuzz_quality_run_SOURCES = tests/fuzz/fuzz_quality.cpp
fuzz_quality_run_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZING_MAIN
fuzz_quality_run_LDADD = libmlqcore.la
