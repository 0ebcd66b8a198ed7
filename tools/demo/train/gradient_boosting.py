#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Gradient boosted trees, one tree a class and iteration; loss: the deviance on what they are trained on."""
import mlq
from common import log, options, tabular
from sklearn.ensemble import GradientBoostingClassifier

args = options(__doc__, iterations=60, data=("digits", "breast-cancer", "wine"), rate=0.1, depth=3)
x, y = tabular(args.data)
model = GradientBoostingClassifier(n_estimators=args.iterations, learning_rate=args.rate, max_depth=args.depth,
                                   subsample=0.8, random_state=args.seed)

job = mlq.attach()


def after_each_tree(index, fitted, _locals):
    """fit() calls this with the number of the iteration that ended; a true answer would stop it."""
    loss = fitted.train_score_[index]
    job.report(index + 1, loss)
    log(index + 1, loss)
    return False


model.fit(x, y, monitor=after_each_tree)
