#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What could be foreseen of a loss that falls in stairs, SLAQ's trace my_mlpc, by the protocol of its authors 10 iterations ahead
(slaq_protocol.py): predictors with hindsight, which no honest one has. Needs numpy and scipy.
    staircase_bound.py [TRACE.csv]"""
import csv, os, sys

import numpy as np
from scipy.optimize import linprog

HORIZON, FIRST = 10, 4
SPANS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20)
HERE = os.path.dirname(os.path.abspath(__file__))
path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, '..', 'data', 'slaq-traces', 'my_mlpc.csv')
with open(path) as file:
    loss = np.array([float(row['loss']) for row in csv.DictReader(file)])
at = np.arange(FIRST, len(loss) - HORIZON)
actual = loss[at + HORIZON]


def mean_error(predicted):
    errors = np.sort(np.abs(predicted - actual) / actual)
    return 100 * errors[:len(errors) - max(1, len(errors) // 100)].mean()


def falls(span):
    """The fall a point over the last `span` points, at every origin."""
    back = np.maximum(0, at - span)
    return (loss[back] - loss[at]) / np.maximum(1, at - back)


def geometric(span):
    back = np.maximum(0, at - span)
    return loss[at] * (loss[at] / loss[back]) ** (HORIZON / np.maximum(1, at - back))


def best_blend():
    """The weights of the falls over all spans that leave the least mean relative error, as a linear programme."""
    basis = HORIZON * np.array([falls(span) for span in SPANS]).T / actual[:, None]
    wanted = (loss[at] - actual) / actual
    n, m = basis.shape
    found = linprog(np.r_[np.zeros(m), np.ones(n)], A_ub=np.block([[basis, -np.eye(n)], [-basis, -np.eye(n)]]),
                    b_ub=np.r_[wanted, -wanted], bounds=[(None, None)] * m + [(0, None)] * n, method='highs')
    return loss[at] - actual * (basis @ found.x[:m])


lines = {span: loss[at] - HORIZON * falls(span) for span in SPANS}
curves = {span: geometric(span) for span in SPANS}
every = np.array([loss[at], *lines.values(), *curves.values()])
print('| predictor | mean relative error, % |\n|---|---|')
print('| no change | %.2f |' % mean_error(loss[at]))
for name, some in (('straight', lines), ('geometric', curves)):
    span = min(some, key=lambda s: mean_error(some[s]))
    print('| %s, over the span that is best for the whole trace (%d) | %.2f |' % (name, span, mean_error(some[span])))
print('| the best blend of the slopes over %d spans, its weights chosen on the trace itself | %.2f |' % (len(SPANS), mean_error(best_blend())))
print('| at every origin the one of all these %d that will turn out best | %.2f |'
      % (len(every), mean_error(every[np.argmin(np.abs(every - actual), axis=0), np.arange(len(at))])))
