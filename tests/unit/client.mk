# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += test_client test_client_processes test_client_parts
EXTRA_DIST += tests/unit/report_server.h tests/unit/client_fixture.h

test_client_CPPFLAGS = $(unit_cppflags) $(MHD_CFLAGS)
test_client_CFLAGS = $(AM_CFLAGS) -pthread
test_client_SOURCES = tests/unit/test_client.c tests/unit/client_fixture.c tests/unit/report_server.c
test_client_LDADD = libmlq.la $(CHECK_LIBS) $(JANSSON_LIBS) $(MHD_LIBS)

test_client_processes_CPPFLAGS = $(unit_cppflags) $(MHD_CFLAGS)
test_client_processes_CFLAGS = $(AM_CFLAGS) -pthread
test_client_processes_SOURCES = tests/unit/test_client_processes.c tests/unit/client_fixture.c \
	tests/unit/report_server.c
test_client_processes_LDADD = libmlq.la $(CHECK_LIBS) $(JANSSON_LIBS) $(MHD_LIBS)

test_client_parts_CPPFLAGS = $(unit_cppflags)
test_client_parts_CFLAGS = $(AM_CFLAGS) -pthread
test_client_parts_SOURCES = tests/unit/test_client_parts.c
test_client_parts_LDADD = libmlqclient.la $(CHECK_LIBS) $(JANSSON_LIBS)
