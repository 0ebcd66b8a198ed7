# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += test_throughput
test_throughput_SOURCES = tests/unit/test_throughput.cpp
test_throughput_CPPFLAGS = $(unit_cppflags)
test_throughput_LDADD = $(unit_libs)
