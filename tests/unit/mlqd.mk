# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += tests/unit/test_token
tests_unit_test_token_CPPFLAGS = $(unit_cppflags) $(JWT_CFLAGS)
tests_unit_test_token_SOURCES = tests/unit/test_token.c
tests_unit_test_token_LDADD = libmlqtoken.la $(JWT_LIBS) $(unit_libs)

mlqd_test_cppflags = $(unit_cppflags) $(SQLITE_CFLAGS) $(MHD_CFLAGS)
mlqd_test_libs = libmlqd.la $(unit_libs)

check_PROGRAMS += tests/unit/test_mlqd_store
tests_unit_test_mlqd_store_CPPFLAGS = $(mlqd_test_cppflags)
tests_unit_test_mlqd_store_CXXFLAGS = $(AM_CXXFLAGS) -pthread
tests_unit_test_mlqd_store_SOURCES = tests/unit/test_mlqd_store.cpp tests/unit/test_mlqd_store_agents.cpp tests/unit/mlqd_fixture.hpp
tests_unit_test_mlqd_store_LDADD = $(mlqd_test_libs)

check_PROGRAMS += tests/unit/test_mlqd_retention
tests_unit_test_mlqd_retention_CPPFLAGS = $(mlqd_test_cppflags)
tests_unit_test_mlqd_retention_CXXFLAGS = $(AM_CXXFLAGS) -pthread
tests_unit_test_mlqd_retention_SOURCES = tests/unit/test_mlqd_retention.cpp tests/unit/mlqd_fixture.hpp
tests_unit_test_mlqd_retention_LDADD = $(mlqd_test_libs)

check_PROGRAMS += tests/unit/test_mlqd_service
tests_unit_test_mlqd_service_CPPFLAGS = $(mlqd_test_cppflags)
tests_unit_test_mlqd_service_CXXFLAGS = $(AM_CXXFLAGS) -pthread
tests_unit_test_mlqd_service_SOURCES = tests/unit/test_mlqd_service.cpp tests/unit/mlqd_fixture.hpp tests/unit/mlqd_world.hpp
tests_unit_test_mlqd_service_LDADD = $(mlqd_test_libs)

check_PROGRAMS += tests/unit/test_mlqd_targets
tests_unit_test_mlqd_targets_CPPFLAGS = $(mlqd_test_cppflags)
tests_unit_test_mlqd_targets_CXXFLAGS = $(AM_CXXFLAGS) -pthread
tests_unit_test_mlqd_targets_SOURCES = tests/unit/test_mlqd_targets.cpp tests/unit/mlqd_fixture.hpp tests/unit/mlqd_world.hpp
tests_unit_test_mlqd_targets_LDADD = $(mlqd_test_libs)

check_PROGRAMS += tests/unit/test_mlqd_speeds
tests_unit_test_mlqd_speeds_CPPFLAGS = $(mlqd_test_cppflags)
tests_unit_test_mlqd_speeds_CXXFLAGS = $(AM_CXXFLAGS) -pthread
tests_unit_test_mlqd_speeds_SOURCES = tests/unit/test_mlqd_speeds.cpp tests/unit/mlqd_fixture.hpp
tests_unit_test_mlqd_speeds_LDADD = $(mlqd_test_libs)

check_PROGRAMS += tests/unit/test_mlqd_limits
tests_unit_test_mlqd_limits_CPPFLAGS = $(mlqd_test_cppflags)
tests_unit_test_mlqd_limits_CXXFLAGS = $(AM_CXXFLAGS) -pthread
tests_unit_test_mlqd_limits_SOURCES = tests/unit/test_mlqd_limits.cpp
tests_unit_test_mlqd_limits_LDADD = $(mlqd_test_libs)
EXTRA_DIST += tests/integration/mlqd_daemon.py tests/integration/test_mlqd.py tests/integration/test_mlqd_load.py \
	tests/integration/test_speeds.py
