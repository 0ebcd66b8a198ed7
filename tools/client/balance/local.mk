# SPDX-License-Identifier: GPL-2.0-or-later
# Apart from libmlq, which stays C: a training that only reports gets no C++ run-time from us.
lib_LTLIBRARIES += libmlq_balance.la
include_HEADERS += tools/client/balance/mlq_balance.h
EXTRA_DIST += tools/client/balance/libmlq_balance.map

noinst_LTLIBRARIES += libmlqbalance.la
libmlqbalance_la_CPPFLAGS = $(AM_CPPFLAGS) $(EIGEN_CFLAGS) $(CURL_CFLAGS)
libmlqbalance_la_CXXFLAGS = $(AM_CXXFLAGS) -fvisibility=hidden -pthread
libmlqbalance_la_SOURCES = \
	tools/client/balance/mlq_balance.cpp tools/client/balance/mlq_balance.h \
	tools/client/balance/node_sampler.cpp tools/client/balance/node_sampler.hpp \
	tools/client/balance/poster.cpp tools/client/balance/poster.hpp \
	tools/client/balance/sampling_thread.cpp tools/client/balance/sampling_thread.hpp \
	tools/client/balance/speed_reporter.cpp tools/client/balance/speed_reporter.hpp
libmlqbalance_la_LIBADD = libmlqcore.la $(CURL_LIBS)

libmlq_balance_la_SOURCES =
nodist_EXTRA_libmlq_balance_la_SOURCES = dummy.cpp
libmlq_balance_la_LIBADD = libmlqbalance.la
libmlq_balance_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined -pthread -Wl,-z,nodelete -Wl,--gc-sections \
	-Wl,--version-script=$(top_srcdir)/tools/client/balance/libmlq_balance.map
libmlq_balance_la_DEPENDENCIES = libmlqbalance.la tools/client/balance/libmlq_balance.map
