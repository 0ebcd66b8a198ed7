# SPDX-License-Identifier: GPL-2.0-or-later
libmlqcore_la_SOURCES += core/quality/to_string.cpp
libmlqcore_la_SOURCES += core/quality/family_prior.cpp core/quality/family_prior.hpp
libmlqcore_la_SOURCES += \
	core/quality/curve.cpp core/quality/curve.hpp \
	core/quality/family_fit.cpp core/quality/family_fit.hpp \
	core/quality/history.cpp core/quality/history.hpp \
	core/quality/horizon.hpp \
	core/quality/models.hpp \
	core/quality/portfolio.cpp core/quality/portfolio.hpp \
	core/quality/prediction.cpp core/quality/prediction.hpp \
	core/quality/separable_fit.hpp \
	core/quality/trend_bank.cpp core/quality/trend_bank.hpp \
	core/quality/tuning.hpp \
	core/quality/window.cpp core/quality/window.hpp
dist_doc_DATA += doc/prediction.md
