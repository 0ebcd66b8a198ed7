# SPDX-License-Identifier: GPL-2.0-or-later
# The agent, apart from its main command so that unit tests link it.
noinst_LTLIBRARIES += libmlqrun.la
libmlqrun_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CURL_CFLAGS) $(JWT_CFLAGS)
libmlqrun_la_LIBADD = $(JWT_LIBS)
libmlqrun_la_SOURCES = \
	tools/mlq/run/agent_report.cpp tools/mlq/run/agent_report.hpp \
	tools/mlq/run/base_nodes.cpp tools/mlq/run/base_nodes.hpp \
	tools/mlq/run/cmd_run.cpp \
	tools/mlq/run/commands.cpp tools/mlq/run/commands.hpp \
	tools/mlq/run/companion_plan.cpp tools/mlq/run/companion_plan.hpp \
	tools/mlq/run/companions.cpp tools/mlq/run/companions.hpp \
	tools/mlq/run/environment.cpp tools/mlq/run/environment.hpp \
	tools/mlq/run/follower.cpp tools/mlq/run/follower.hpp \
	tools/mlq/run/gate.cpp tools/mlq/run/gate.hpp \
	tools/mlq/run/group.cpp tools/mlq/run/group.hpp \
	tools/mlq/run/group_save.cpp \
	tools/mlq/run/group_moves.cpp tools/mlq/run/group_parts.hpp \
	tools/mlq/run/head.cpp tools/mlq/run/head.hpp \
	tools/mlq/run/http.cpp tools/mlq/run/http.hpp \
	tools/mlq/run/job_facts.cpp tools/mlq/run/job_facts.hpp \
	tools/mlq/run/link.cpp tools/mlq/run/link.hpp \
	tools/mlq/run/loop.cpp tools/mlq/run/loop.hpp \
	tools/mlq/run/member.cpp tools/mlq/run/member.hpp \
	tools/mlq/run/message.cpp tools/mlq/run/message.hpp \
	tools/mlq/run/node.cpp tools/mlq/run/node.hpp \
	tools/mlq/run/node_size.cpp tools/mlq/run/node_size.hpp \
	tools/mlq/run/output.cpp tools/mlq/run/output.hpp \
	tools/mlq/run/port.cpp tools/mlq/run/port.hpp \
	tools/mlq/run/processes.cpp tools/mlq/run/processes.hpp \
	tools/mlq/run/proof.cpp tools/mlq/run/proof.hpp \
	tools/mlq/run/show_plan.cpp \
	tools/mlq/run/worker_socket.cpp tools/mlq/run/worker_socket.hpp
dist_man_MANS += doc/man/mlq-run.1
