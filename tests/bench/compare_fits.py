#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the lines of compare_fits, lets SciPy solve some of the same problems, and prints tables for doc/prediction.md.

    compare_fits CURVE.csv... | compare_fits.py [--windows 400] [--write]

Ceres and SciPy are each timed twice: from the best point of this project's grid, a start that is given to them while our own time
includes the search for it; and from their own start, as one calls a solver that is not told where to look. For SciPy that is
curve_fit with bounds and nothing else, as SLAQ's authors call it: trust-region-reflective, numeric Jacobian, its default start.
Ceres has no default start and gets that of curve_fit; its Jacobians are analytic, as ours.
"""
import argparse, json, os, pathlib, random, statistics, sys, time

MARKS = ('<!-- comparison of fits -->', '<!-- end of comparison of fits -->')
DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / 'doc/prediction.md'


def as_good(mine, other):
    """Within a thousandth, or both as exact as the numbers are."""
    return mine <= other * 1.001 + 1e-12


def table(title, rows, name):
    """One solver with one start: costs under `name`, microseconds under `name`_us."""
    lines = [f'**{title}**', '', '| family | fits | no worse than it | ours | it | times slower |', '|---|---|---|---|---|---|']
    for family in ['all'] + sorted({r['family'] for r in rows}):
        some = [r for r in rows if family in (r['family'], 'all')]
        ours, theirs = (statistics.median(r[k] for r in some) for k in ('ours_us', name + '_us'))
        good = 100 * statistics.fmean(as_good(r['ours'], r[name]) for r in some)
        lines.append(f'| {family} | {len(some):,} | {good:.1f} % | {ours:.1f} us | {theirs:,.0f} us | {theirs / ours:,.1f} |')
    return '\n'.join(lines) + '\n'


def models(np):
    out = {'sublinear': lambda x, a, b, c, d: 1 / ((a * x + b) * x + c) + d, 'hyperbola': lambda x, b, c, d: 1 / (b * x + c) + d,
           'exponential': lambda x, q, r, c: np.exp(np.minimum(q - r * x, 300)) + c}
    return dict(out, power=out['exponential'])


def solve_with_scipy(rows):
    """Adds the cost and the microseconds from the given start and from SciPy's own; a fit that gives up costs infinitely much."""
    import numpy as np
    from scipy.optimize import curve_fit, least_squares
    np.seterr(all='ignore')
    known = models(np)
    for r in rows:
        model, (x, y, w) = known[r['family']], (np.array(r[k]) for k in ('x', 'y', 'weight'))
        lower, upper = (np.array(r[k]) for k in ('lower', 'upper'))
        lower, upper = np.where(lower <= -1e13, -np.inf, lower), np.where(upper >= 1e13, np.inf, upper)

        def given():
            start = np.clip(np.array(r['start']), lower + 1e-12, upper - 1e-12)
            return 2 * least_squares(lambda p: np.sqrt(w) * (model(x, *p) - y), start, bounds=(lower, upper)).cost

        def own():
            found, _ = curve_fit(model, x, y, sigma=1 / np.sqrt(w), bounds=(lower, upper))
            return float(np.sum(w * (model(x, *found) - y) ** 2))

        for name, solve in (('scipy', given), ('scipy_own', own)):
            begin = time.perf_counter()
            try:
                cost = solve()
            except (ValueError, RuntimeError):  # a residual was not finite, or too many evaluations
                cost = np.inf
            r[name], r[name + '_us'] = cost, 1e6 * (time.perf_counter() - begin)


def tables(rows, windows):
    parts = [table('Ceres, told the best point of our grid; our own time includes the search for it', rows, 'ceres'),
             table("Ceres, from curve_fit's default start", rows, 'ceres_own')]
    some = random.Random(1).sample(rows, min(windows, len(rows)))
    try:
        solve_with_scipy(some)
    except ImportError:
        return '\n'.join(parts) + '\nSciPy is not installed: compared with Ceres alone.\n'
    parts += [table('SciPy least_squares (trf, numeric Jacobian), told the best point of our grid; our own time includes the search for it',
                    some, 'scipy'),
              table("SciPy curve_fit with bounds, its default start: how SLAQ's authors fit", some, 'scipy_own')]
    return '\n'.join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--windows', type=int, default=400, help='that SciPy is given, drawn at random')
    parser.add_argument('--write', action='store_true', help=f'into {DOCUMENT.name} as well')
    options = parser.parse_args()
    rows = [json.loads(line) for line in sys.stdin]
    if not rows:
        sys.exit('compare_fits.py: no problems on standard input')
    text = f'Load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores. Medians.\n\n' + tables(rows, options.windows)
    print(text)
    if options.write:
        before, rest = DOCUMENT.read_text().split(MARKS[0])
        DOCUMENT.write_text(before + MARKS[0] + '\n' + text + MARKS[1] + rest.split(MARKS[1])[1])


if __name__ == '__main__':
    main()
