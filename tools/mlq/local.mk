# SPDX-License-Identifier: GPL-2.0-or-later
include tools/mlq/run/local.mk
bin_PROGRAMS += mlq
mlq_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CURL_CFLAGS)
mlq_SOURCES = tools/mlq/main.cpp tools/mlq/commands.hpp tools/number_range.hpp
mlq_SOURCES += tools/mlq/cmd_balance.cpp tools/mlq/speed_trace.cpp tools/mlq/speed_trace.hpp
mlq_SOURCES += tools/mlq/cmd_fit.cpp
mlq_SOURCES += tools/mlq/curve_file.cpp tools/mlq/curve_file.hpp tools/mlq/curve_plot.cpp tools/mlq/curve_plot.hpp
dist_man_MANS += doc/man/mlq-fit.1
mlq_SOURCES += tools/mlq/cmd_status.cpp tools/mlq/cmd_explain.cpp tools/mlq/cmd_report.cpp tools/mlq/cmd_top.cpp tools/mlq/cmd_watch.cpp
dist_man_MANS += doc/man/mlq.1 doc/man/mlq-status.1 doc/man/mlq-top.1 doc/man/mlq-explain.1 doc/man/mlq-report.1 doc/man/mlq-watch.1
dist_man_MANS += doc/man/mlq-simulate.1
mlq_SOURCES += tools/mlq/cmd_simulate.cpp tools/mlq/simulate.hpp tools/mlq/simulate_load.cpp tools/mlq/simulate_show.cpp
mlq_LDADD = libmlqrun.la libmlqcli.la libmlq.la libmlqcore.la $(JANSSON_LIBS) $(CURL_LIBS)

# What status, explain and top are made of; unit tests link it too.
noinst_LTLIBRARIES += libmlqcli.la
libmlqcli_la_CPPFLAGS = $(mlq_CPPFLAGS)
libmlqcli_la_SOURCES = tools/mlq/error.hpp \
	tools/mlq/child.cpp tools/mlq/child.hpp \
	tools/mlq/collector.cpp tools/mlq/collector.hpp \
	tools/mlq/explanation.cpp tools/mlq/explanation.hpp \
	tools/mlq/format.cpp tools/mlq/format.hpp \
	tools/mlq/job_table.cpp tools/mlq/job_table.hpp \
	tools/mlq/job_view.cpp tools/mlq/job_view.hpp \
	tools/mlq/rank_table.cpp tools/mlq/rank_table.hpp \
	tools/mlq/log_line.cpp tools/mlq/log_line.hpp \
	tools/mlq/log_tail.cpp tools/mlq/log_tail.hpp \
	tools/mlq/session.cpp tools/mlq/session.hpp \
	tools/mlq/json_value.cpp tools/mlq/json_value.hpp \
	tools/mlq/size_view.cpp tools/mlq/size_view.hpp \
	tools/mlq/sketch.cpp tools/mlq/sketch.hpp
dist_man_MANS += doc/man/mlq-balance.1
