# SPDX-License-Identifier: GPL-2.0-or-later
libmlqcore_la_SOURCES += \
	core/throughput/iteration_time.cpp core/throughput/iteration_time.hpp \
	core/throughput/mixed_rate.cpp core/throughput/mixed_rate.hpp \
	core/throughput/rate_model.hpp
