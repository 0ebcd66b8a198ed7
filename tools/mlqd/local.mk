# SPDX-License-Identifier: GPL-2.0-or-later
# All but main() is a library of its own for the tests.
noinst_LTLIBRARIES += libmlqd.la
libmlqd_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(SQLITE_CFLAGS) $(MHD_CFLAGS)
libmlqd_la_CXXFLAGS = $(AM_CXXFLAGS) -pthread
libmlqd_la_SOURCES = \
	tools/mlqd/access.cpp \
	tools/mlqd/clock.hpp \
	tools/mlqd/connections.cpp tools/mlqd/connections.hpp \
	tools/mlqd/daemon.cpp tools/mlqd/daemon.hpp \
	tools/mlqd/http.hpp \
	tools/mlqd/http_server.cpp tools/mlqd/http_server.hpp \
	tools/mlqd/job_table.cpp \
	tools/mlqd/keys.cpp tools/mlqd/keys.hpp \
	tools/mlqd/listener.cpp tools/mlqd/listener.hpp \
	tools/mlqd/log.cpp tools/mlqd/log.hpp \
	tools/number_range.hpp \
	tools/mlqd/metrics.cpp tools/mlqd/metrics.hpp \
	tools/mlqd/options.cpp tools/mlqd/options.hpp \
	tools/mlqd/rate_limiter.cpp tools/mlqd/rate_limiter.hpp \
	tools/mlqd/reader.cpp tools/mlqd/reader.hpp \
	tools/mlqd/retention.cpp tools/mlqd/retention.hpp \
	tools/mlqd/schema.cpp tools/mlqd/schema.hpp \
	tools/mlqd/service.cpp tools/mlqd/service.hpp \
	tools/mlqd/service_speeds.cpp \
	tools/mlqd/speed_table.cpp tools/mlqd/speed_table.hpp \
	tools/mlqd/sqlite.cpp tools/mlqd/sqlite.hpp \
	tools/mlqd/store.cpp tools/mlqd/store.hpp \
	tools/mlqd/target_answers.cpp tools/mlqd/target_answers.hpp \
	tools/mlqd/writer.cpp tools/mlqd/writer.hpp
libmlqd_la_LIBADD = libmlqcore.la libmlqtoken.la $(JANSSON_LIBS) $(SQLITE_LIBS) $(MHD_LIBS)

sbin_PROGRAMS += mlqd
mlqd_SOURCES = tools/mlqd/main.cpp
mlqd_CPPFLAGS = $(libmlqd_la_CPPFLAGS)
mlqd_CXXFLAGS = $(libmlqd_la_CXXFLAGS)
mlqd_LDFLAGS = $(AM_LDFLAGS) -pthread
mlqd_LDADD = libmlqd.la

dist_man_MANS += doc/man/mlqd.8

systemdunitdir = $(prefix)/lib/systemd/system
nodist_systemdunit_DATA = tools/mlqd/mlqd.service
dist_doc_DATA += tools/mlqd/mlqd.conf
EXTRA_DIST += tools/mlqd/mlqd.service.in
CLEANFILES += tools/mlqd/mlqd.service
tools/mlqd/mlqd.service: tools/mlqd/mlqd.service.in
	$(AM_V_GEN)$(MKDIR_P) $(@D) && sed 's|@sbindir[@]|$(sbindir)|' $(srcdir)/tools/mlqd/mlqd.service.in > $@
