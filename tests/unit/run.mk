# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += test_run
test_run_CPPFLAGS = $(unit_cppflags)
test_run_SOURCES = tests/unit/test_run.cpp tests/unit/test_run_group.cpp tests/unit/test_run_gpus.cpp tests/unit/test_run.hpp
test_run_LDADD = libmlqrun.la libmlqcli.la libmlq.la libmlqcore.la $(CURL_LIBS) $(CHECK_LIBS) $(JANSSON_LIBS)
