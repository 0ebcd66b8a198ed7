# SPDX-License-Identifier: GPL-2.0-or-later
libmlqcore_la_SOURCES += core/wire/wire.hpp core/wire/wire.cpp \
	core/wire/report.hpp core/wire/report.cpp core/wire/cycle.hpp core/wire/cycle.cpp \
	core/wire/agent.hpp core/wire/agent.cpp core/wire/speeds.hpp core/wire/speeds.cpp
