# SPDX-License-Identifier: GPL-2.0-or-later
libmlqcore_la_SOURCES += \
	core/simulation/metrics.cpp core/simulation/metrics.hpp \
	core/simulation/running_job.cpp core/simulation/running_job.hpp \
	core/simulation/simulator.cpp core/simulation/simulator.hpp \
	core/simulation/trace.cpp core/simulation/trace.hpp \
	core/simulation/workload.cpp core/simulation/workload.hpp
