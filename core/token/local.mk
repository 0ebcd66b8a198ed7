# SPDX-License-Identifier: GPL-2.0-or-later
# Apart from libmlqcore, which knows no JWT: libmlqmint signs and needs no library, libmlqtoken checks as well.
noinst_LTLIBRARIES += libmlqmint.la libmlqtoken.la

libmlqmint_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libmlqmint_la_SOURCES = core/token/cluster_name.h core/token/hmac_sha256.c core/token/hmac_sha256.h \
	core/token/job_token.h core/token/key_file.c core/token/token_mint.c

libmlqtoken_la_CPPFLAGS = $(AM_CPPFLAGS) $(JWT_CFLAGS)
libmlqtoken_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libmlqtoken_la_LIBADD = libmlqmint.la $(JWT_LIBS)
libmlqtoken_la_SOURCES = core/token/job_token.c
