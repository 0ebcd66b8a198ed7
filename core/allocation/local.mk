# SPDX-License-Identifier: GPL-2.0-or-later
libmlqcore_la_SOURCES += \
	core/allocation/allocator.cpp core/allocation/allocator.hpp \
	core/allocation/curve_outlook.cpp \
	core/allocation/concave_hull.cpp core/allocation/concave_hull.hpp \
	core/allocation/fair_clock.cpp core/allocation/fair_clock.hpp \
	core/allocation/outlook.cpp core/allocation/outlook.hpp \
	core/allocation/pending_size.cpp core/allocation/pending_size.hpp \
	core/allocation/packing.cpp core/allocation/packing.hpp \
	core/allocation/policies.cpp core/allocation/policies.hpp \
	core/allocation/policy.cpp core/allocation/policy.hpp \
	core/allocation/quality_policy.cpp \
	core/allocation/ranking.cpp core/allocation/ranking.hpp \
	core/allocation/settle.cpp core/allocation/settle.hpp
dist_doc_DATA += doc/allocation.md
