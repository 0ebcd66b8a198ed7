# SPDX-License-Identifier: GPL-2.0-or-later
# Unit tests use Check; benchmarks Google Benchmark; fuzz targets are built by `make fuzz` with clang.
TESTS += $(check_PROGRAMS)

unit_cppflags = $(AM_CPPFLAGS) $(CHECK_CFLAGS) $(JANSSON_CFLAGS) $(EIGEN_CFLAGS) -DMLQ_SOURCE_DIR=\"$(abs_top_srcdir)\"
unit_libs = libmlqcore.la $(CHECK_LIBS) $(JANSSON_LIBS)

if HAVE_CHECK
include tests/unit/request.mk
include tests/unit/quality.mk
include tests/unit/throughput.mk
include tests/unit/allocation.mk
include tests/unit/balance.mk
include tests/unit/simulation.mk
include tests/unit/wire.mk
include tests/unit/engine.mk
include tests/unit/sched.mk
include tests/unit/spank.mk
include tests/unit/mlqd.mk
include tests/unit/client.mk
include tests/unit/cli.mk
include tests/unit/run.mk
endif

include tests/python/local.mk
include tests/documents/local.mk
include tests/fuzz/local.mk
include tests/bench/local.mk

print-check-programs:
	@echo $(check_PROGRAMS)
.PHONY: print-check-programs
