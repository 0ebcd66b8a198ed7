# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += test_quality
test_quality_CPPFLAGS = $(unit_cppflags)
test_quality_SOURCES = \
	tests/unit/test_quality.cpp \
	tests/unit/quality_curve.cpp \
	tests/unit/quality_file.cpp \
	tests/unit/quality_fit.cpp \
	tests/unit/quality_history.cpp \
	tests/unit/quality_suites.hpp \
	tools/mlq/curve_file.cpp tools/mlq/curve_file.hpp
test_quality_LDADD = $(unit_libs)

TESTS += tests/unit/mlq_fit.py tests/unit/slaq_protocol.py
EXTRA_DIST += tests/unit/mlq_fit.py tests/unit/slaq_protocol.py tests/data/README.md
EXTRA_DIST += $(srcdir)/tests/data/slaq-traces $(srcdir)/tests/data/loss-curves $(srcdir)/tests/data/worker-speed $(srcdir)/tests/data/contention
