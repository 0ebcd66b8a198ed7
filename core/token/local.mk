# SPDX-License-Identifier: GPL-2.0-or-later
# Apart from libmlqcore, which knows no JWT: the SPANK plugin, the engine and mlqd link it.
noinst_LTLIBRARIES += libmlqtoken.la

libmlqtoken_la_CPPFLAGS = $(AM_CPPFLAGS) $(JWT_CFLAGS)
libmlqtoken_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libmlqtoken_la_LIBADD = $(JWT_LIBS)
libmlqtoken_la_SOURCES = core/token/job_token.c core/token/job_token.h core/token/key_file.c
