# SPDX-License-Identifier: GPL-2.0-or-later
if HAVE_BENCHMARK
EXTRA_PROGRAMS += bench_quality
bench_quality_SOURCES = tests/bench/bench_quality.cpp
bench_quality_CPPFLAGS = $(AM_CPPFLAGS) $(BENCHMARK_CFLAGS)
bench_quality_LDADD = libmlqcore.la $(BENCHMARK_LIBS)
endif
EXTRA_DIST += tests/bench/prediction_tables.py tests/bench/staircase_bound.py

# The predictor judged with other constants, and on changed curves: built only when asked for.
EXTRA_PROGRAMS += tune_prediction stress_prediction
tune_prediction_SOURCES = tests/bench/tune_prediction.cpp tests/bench/curve_scores.cpp tests/bench/curve_scores.hpp
tune_prediction_CPPFLAGS = $(AM_CPPFLAGS) $(EIGEN_CFLAGS)
tune_prediction_LDADD = libmlqcore.la
stress_prediction_SOURCES = tests/bench/stress_prediction.cpp tests/bench/curve_scores.cpp tests/bench/curve_scores.hpp
stress_prediction_CPPFLAGS = $(AM_CPPFLAGS) $(EIGEN_CFLAGS)
stress_prediction_LDADD = libmlqcore.la

# Needs libceres-dev, and python3-scipy for its script: built only when asked for.
EXTRA_PROGRAMS += compare_fits
compare_fits_SOURCES = tests/bench/compare_fits.cpp
compare_fits_CPPFLAGS = $(AM_CPPFLAGS) $(EIGEN_CFLAGS)
compare_fits_LDADD = libmlqcore.la -lceres -lglog
EXTRA_DIST += tests/bench/compare_fits.py
