# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += test_simulation
test_simulation_SOURCES = tests/unit/test_simulation.cpp
test_simulation_CPPFLAGS = $(unit_cppflags)
test_simulation_LDADD = $(unit_libs)
