# SPDX-License-Identifier: GPL-2.0-or-later
libmlqcore_la_SOURCES += \
	core/balance/evidence.cpp core/balance/evidence.hpp \
	core/balance/history.hpp \
	core/balance/linear_predictors.cpp core/balance/linear_predictors.hpp \
	core/balance/narx.cpp core/balance/narx.hpp \
	core/balance/policies.cpp core/balance/policies.hpp \
	core/balance/rank_fit.cpp core/balance/rank_fit.hpp \
	core/balance/replay.cpp core/balance/replay.hpp \
	core/balance/shadow.hpp \
	core/balance/sizing.cpp core/balance/sizing.hpp \
	core/balance/speed.cpp core/balance/speed.hpp
