# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += test_request
test_request_SOURCES = tests/unit/test_request.c
test_request_CPPFLAGS = $(unit_cppflags)
test_request_LDADD = $(unit_libs)
