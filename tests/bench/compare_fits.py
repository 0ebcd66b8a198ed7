#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the lines of compare_fits, lets SciPy solve some of the same problems, and prints how the three compare.
    compare_fits CURVE.csv... | compare_fits.py [WINDOWS-FOR-SCIPY]"""
import json, random, statistics, sys, time

rows = [json.loads(line) for line in sys.stdin]
# as good: within a thousandth, or both as exact as the numbers are
def as_good(mine, other): return mine <= other * 1.001 + 1e-12

print('No worse: a sum of weighted squares at most 1.001 times the other\'s, or at most 1e-12 more.')
print('%-12s %6s  %-22s %10s %10s %8s' % ('family', 'fits', 'no worse than Ceres', 'ours, us', 'Ceres, us', 'faster'))
for family in sorted({r['family'] for r in rows}) + ['all']:
    some = [r for r in rows if family in (r['family'], 'all')]
    ours, theirs = (statistics.median(r[k] for r in some) for k in ('ours_us', 'ceres_us'))
    print('%-12s %6d  %20.1f %% %10.1f %10.1f %7.0fx' % (family, len(some),
          100 * statistics.fmean(as_good(r['ours'], r['ceres']) for r in some), ours, theirs, theirs / ours))

try:
    import numpy as np
    from scipy.optimize import least_squares
except ImportError:
    sys.exit('SciPy is not installed: compared with Ceres alone')
np.seterr(all='ignore')
MODELS = {'sublinear': lambda x, p: 1 / ((p[0] * x + p[1]) * x + p[2]) + p[3], 'hyperbola': lambda x, p: 1 / (p[0] * x + p[1]) + p[2],
          'exponential': lambda x, p: np.exp(np.minimum(p[0] - p[1] * x, 300)) + p[2]}
MODELS['power'] = MODELS['exponential']
count = int(sys.argv[1]) if len(sys.argv) > 1 else 400


def solved(r):
    """Cost and microseconds of the solver and the method behind curve_fit with bounds."""
    x, y, w = (np.array(r[k]) for k in ('x', 'y', 'weight'))
    lower, upper = np.array(r['lower']), np.array(r['upper'])
    start = np.clip(np.array(r['start']), lower + 1e-12, upper - 1e-12)
    begin = time.perf_counter()
    try:
        cost = 2 * least_squares(lambda p: np.sqrt(w) * (MODELS[r['family']](x, p) - y), start, bounds=(lower, upper)).cost
    except ValueError:  # it gave up: a residual was not finite
        cost = np.inf
    return cost, 1e6 * (time.perf_counter() - begin)


some = random.Random(1).sample(rows, min(count, len(rows)))
for row in some:
    row['scipy'], row['scipy_us'] = solved(row)
print('%-12s %6s  %-22s %10s %10s %8s' % ('family', 'fits', 'no worse than SciPy', 'ours, us', 'SciPy, us', 'faster'))
for family in sorted({r['family'] for r in some}) + ['all']:
    part = [r for r in some if family in (r['family'], 'all')]
    ours, theirs = (statistics.median(r[k] for r in part) for k in ('ours_us', 'scipy_us'))
    print('%-12s %6d  %20.1f %% %10.1f %10.0f %7.0fx' % (family, len(part),
          100 * statistics.fmean(as_good(r['ours'], r['scipy']) for r in part), ours, theirs, theirs / ours))
