# SPDX-License-Identifier: GPL-2.0-or-later
libmlqcore_la_SOURCES += core/quality/to_string.cpp
libmlqcore_la_SOURCES += core/quality/family_prior.cpp core/quality/family_prior.hpp
