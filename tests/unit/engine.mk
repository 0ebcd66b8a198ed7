# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += test_engine
test_engine_SOURCES = tests/unit/test_engine.cpp tests/unit/test_engine.hpp \
	tests/unit/test_engine_comment.cpp tests/unit/test_engine_config.cpp \
	tests/unit/test_engine_cycle.cpp tests/unit/test_engine_failures.cpp tests/unit/engine_bench.hpp \
	tests/unit/test_engine_messages.cpp tests/unit/test_engine_targets.cpp tests/unit/test_engine_companions.cpp tests/unit/test_engine_sizing.cpp tests/unit/test_engine_size_limits.cpp tests/unit/test_engine_gpu_sizing.cpp tests/unit/test_engine_requeues.cpp tests/unit/test_engine_het.cpp tests/unit/test_engine_gpus.cpp tests/unit/test_engine_nodes.cpp \
	tests/unit/resize_bench.hpp tests/unit/sizing_bench.hpp tests/unit/requeue_bench.hpp \
	tests/unit/fake_mlqd.cpp tests/unit/fake_mlqd.hpp
test_engine_CPPFLAGS = $(unit_cppflags) $(CURL_CFLAGS) $(MHD_CFLAGS)
test_engine_LDADD = libmlqengine.la $(MHD_LIBS) $(unit_libs)
