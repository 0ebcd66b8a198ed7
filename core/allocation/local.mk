# SPDX-License-Identifier: GPL-2.0-or-later
libmlqcore_la_SOURCES += core/allocation/ranking.cpp core/allocation/ranking.hpp
