# SPDX-License-Identifier: GPL-2.0-or-later
bin_PROGRAMS += mlq
mlq_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CURL_CFLAGS)
mlq_SOURCES = tools/mlq/main.cpp tools/mlq/commands.hpp
mlq_SOURCES += tools/mlq/cmd_balance.cpp tools/mlq/speed_trace.cpp tools/mlq/speed_trace.hpp
mlq_SOURCES += tools/mlq/cmd_fit.cpp
mlq_SOURCES += tools/mlq/curve_file.cpp tools/mlq/curve_file.hpp tools/mlq/curve_plot.cpp tools/mlq/curve_plot.hpp
dist_man_MANS += doc/man/mlq-fit.1
mlq_LDADD = libmlqcore.la $(JANSSON_LIBS) $(CURL_LIBS)
