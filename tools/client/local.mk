# SPDX-License-Identifier: GPL-2.0-or-later
include tools/client/python.mk
lib_LTLIBRARIES += libmlq.la
include_HEADERS += tools/client/mlq.h

# Everything but the public names' map, so that unit tests reach the parts.
noinst_LTLIBRARIES += libmlqclient.la
libmlqclient_la_CPPFLAGS = $(AM_CPPFLAGS) $(CURL_CFLAGS) $(JANSSON_CFLAGS) -include mlq_build.h
libmlqclient_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden -pthread
libmlqclient_la_SOURCES = tools/client/mlq.c tools/client/mlq.h \
	tools/client/sender.c tools/client/sender.h \
	tools/client/backlog.c tools/client/backlog.h \
	tools/client/ring.c tools/client/ring.h \
	tools/client/settings.c tools/client/settings.h
libmlqclient_la_LIBADD = $(CURL_LIBS) $(JANSSON_LIBS)

# -version-info current:revision:age; the background thread must outlive a dlclose().
libmlq_la_SOURCES =
libmlq_la_LIBADD = libmlqclient.la
libmlq_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined -pthread -Wl,-z,nodelete \
	-Wl,--version-script=$(top_srcdir)/tools/client/libmlq.map
libmlq_la_DEPENDENCIES = libmlqclient.la tools/client/libmlq.map

pkgconfigdir = $(libdir)/pkgconfig
nodist_pkgconfig_DATA = tools/client/mlq.pc
CLEANFILES += tools/client/mlq.pc
EXTRA_DIST += tools/client/mlq.pc.in tools/client/libmlq.map
tools/client/mlq.pc: tools/client/mlq.pc.in Makefile
	$(AM_V_GEN)$(MKDIR_P) tools/client && sed -e 's|[@]prefix[@]|$(prefix)|' -e 's|[@]exec_prefix[@]|$(exec_prefix)|' \
		-e 's|[@]libdir[@]|$(libdir)|' -e 's|[@]includedir[@]|$(includedir)|' -e 's|[@]VERSION[@]|$(VERSION)|' \
		$(srcdir)/tools/client/mlq.pc.in > $@

dist_man_MANS += doc/man/mlq_report.3 doc/man/libmlq.3 doc/man/mlq_attach.3 doc/man/mlq_flush.3 doc/man/mlq_detach.3
