# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += tests/unit/test_wire
tests_unit_test_wire_CPPFLAGS = $(unit_cppflags)
tests_unit_test_wire_SOURCES = tests/unit/test_wire.cpp tests/unit/check_cpp.hpp
tests_unit_test_wire_LDADD = $(unit_libs)
