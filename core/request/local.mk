# SPDX-License-Identifier: GPL-2.0-or-later
libmlqcore_la_SOURCES += core/request/quality_request.c core/request/quality_request.h \
	core/request/batch_split.c core/request/batch_split.h
