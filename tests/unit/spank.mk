# SPDX-License-Identifier: GPL-2.0-or-later
if WITH_SPANK
check_PROGRAMS += test_spank
test_spank_SOURCES = tests/unit/test_spank.c tests/unit/test_spank_node.c tests/unit/test_spank_speeds.c tests/unit/test_spank_text.c \
	tests/unit/spank_fixture.c tests/unit/spank_fixture.h tests/unit/spank_stubs.c tests/unit/spank_stubs.h $(spank_sources)
test_spank_CPPFLAGS = $(unit_cppflags)
test_spank_CFLAGS = $(AM_CFLAGS) -pthread
test_spank_LDADD = libmlqtoken.la $(CHECK_LIBS)
EXTRA_test_spank_DEPENDENCIES = spank_ml_quality_token.la
endif
