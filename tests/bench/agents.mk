# SPDX-License-Identifier: GPL-2.0-or-later
# Run in the build folder: it starts ./mlqd and stores on the disk of the working folder.
EXTRA_PROGRAMS += bench_agents
bench_agents_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CURL_CFLAGS)
bench_agents_CXXFLAGS = $(AM_CXXFLAGS) -pthread
bench_agents_LDFLAGS = $(AM_LDFLAGS) -pthread
bench_agents_SOURCES = tests/bench/bench_agents.cpp \
	tests/bench/agent_crowd.cpp tests/bench/agent_crowd.hpp \
	tests/bench/mlqd_process.cpp tests/bench/mlqd_process.hpp \
	tests/bench/plugin_cycles.cpp tests/bench/plugin_cycles.hpp
bench_agents_LDADD = libmlqengine.la $(CURL_LIBS) $(JANSSON_LIBS)
