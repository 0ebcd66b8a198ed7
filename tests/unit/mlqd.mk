# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += tests/unit/test_token
tests_unit_test_token_CPPFLAGS = $(unit_cppflags) $(JWT_CFLAGS)
tests_unit_test_token_SOURCES = tests/unit/test_token.c
tests_unit_test_token_LDADD = libmlqtoken.la $(JWT_LIBS) $(unit_libs)
