# SPDX-License-Identifier: GPL-2.0-or-later
# What comes into mlqd from outside. Built in a tree that is configured with clang.
fuzz_wire_cppflags = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
fuzz_wire_cxxflags = $(AM_CXXFLAGS) -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
fuzz_wire_ldflags = $(AM_LDFLAGS) -fsanitize=fuzzer,address,undefined

EXTRA_PROGRAMS += fuzz_report
fuzz_report_SOURCES = tests/fuzz/fuzz_report.cpp core/wire/report.cpp core/wire/wire.cpp
fuzz_report_CPPFLAGS = $(fuzz_wire_cppflags)
fuzz_report_CXXFLAGS = $(fuzz_wire_cxxflags)
fuzz_report_LDFLAGS = $(fuzz_wire_ldflags)
fuzz_report_LDADD = $(JANSSON_LIBS)

EXTRA_PROGRAMS += fuzz_cycle
fuzz_cycle_SOURCES = tests/fuzz/fuzz_cycle.cpp core/wire/cycle.cpp core/wire/wire.cpp
fuzz_cycle_CPPFLAGS = $(fuzz_wire_cppflags)
fuzz_cycle_CXXFLAGS = $(fuzz_wire_cxxflags)
fuzz_cycle_LDFLAGS = $(fuzz_wire_ldflags)
fuzz_cycle_LDADD = $(JANSSON_LIBS)

EXTRA_PROGRAMS += fuzz_agent
fuzz_agent_SOURCES = tests/fuzz/fuzz_agent.cpp core/wire/agent.cpp core/wire/wire.cpp
fuzz_agent_CPPFLAGS = $(fuzz_wire_cppflags)
fuzz_agent_CXXFLAGS = $(fuzz_wire_cxxflags)
fuzz_agent_LDFLAGS = $(fuzz_wire_ldflags)
fuzz_agent_LDADD = $(JANSSON_LIBS)

EXTRA_PROGRAMS += fuzz_speeds
fuzz_speeds_SOURCES = tests/fuzz/fuzz_speeds.cpp core/wire/speeds.cpp core/wire/wire.cpp
fuzz_speeds_CPPFLAGS = $(fuzz_wire_cppflags)
fuzz_speeds_CXXFLAGS = $(fuzz_wire_cxxflags)
fuzz_speeds_LDFLAGS = $(fuzz_wire_ldflags)
fuzz_speeds_LDADD = $(JANSSON_LIBS)

EXTRA_DIST += tests/fuzz/require.hpp tests/fuzz/wire_answer.hpp
EXTRA_DIST += tests/fuzz/corpus/speeds tests/fuzz/corpus/agent tests/fuzz/corpus/report tests/fuzz/corpus/cycle
