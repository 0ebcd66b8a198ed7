# SPDX-License-Identifier: GPL-2.0-or-later
# Apart from libmlqcore, which knows no JWT. libmlqkey reads the key and needs no library.
noinst_LTLIBRARIES += libmlqkey.la libmlqtoken.la

libmlqkey_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libmlqkey_la_SOURCES = core/token/job_token.h core/token/key_file.c

libmlqtoken_la_CPPFLAGS = $(AM_CPPFLAGS) $(JWT_CFLAGS)
libmlqtoken_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libmlqtoken_la_LIBADD = libmlqkey.la $(JWT_LIBS)
libmlqtoken_la_SOURCES = core/token/job_token.c core/token/job_token.h
