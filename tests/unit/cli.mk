# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += test_cli
test_cli_CPPFLAGS = $(unit_cppflags)
test_cli_SOURCES = tests/unit/test_cli.cpp
test_cli_LDADD = libmlqcli.la libmlqcore.la $(CURL_LIBS) $(CHECK_LIBS) $(JANSSON_LIBS)

check_PROGRAMS += test_watch
test_watch_CPPFLAGS = $(unit_cppflags)
test_watch_SOURCES = tests/unit/test_watch.cpp
test_watch_LDADD = libmlqcli.la libmlqcore.la $(CURL_LIBS) $(CHECK_LIBS) $(JANSSON_LIBS)
