# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += test_allocation
test_allocation_SOURCES = tests/unit/test_allocation.hpp tests/unit/packing_case.hpp tests/unit/test_allocation.cpp tests/unit/test_ranking.cpp tests/unit/test_allocator.cpp tests/unit/test_outlook.cpp tests/unit/test_policy.cpp tests/unit/test_job_memory.cpp tests/unit/test_settle.cpp tests/unit/test_pending_size.cpp tests/unit/test_packing.cpp tests/unit/test_packing_gpus.cpp
test_allocation_CPPFLAGS = $(unit_cppflags)
test_allocation_LDADD = $(unit_libs)
