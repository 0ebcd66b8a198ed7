# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += test_balance test_balance_evidence test_balance_sampler
test_balance_SOURCES = tests/unit/test_balance.cpp
test_balance_CPPFLAGS = $(unit_cppflags)
test_balance_LDADD = $(unit_libs)
test_balance_evidence_SOURCES = tests/unit/test_balance_evidence.cpp
test_balance_evidence_CPPFLAGS = $(unit_cppflags)
test_balance_evidence_LDADD = $(unit_libs)
test_balance_sampler_SOURCES = tests/unit/test_balance_sampler.cpp
test_balance_sampler_CPPFLAGS = $(unit_cppflags)
test_balance_sampler_CXXFLAGS = $(AM_CXXFLAGS) -pthread
test_balance_sampler_LDADD = libmlqbalance.la $(unit_libs)
