#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Multinomial logistic regression by stochastic gradient descent; loss: mean cross entropy."""
import mlq
import numpy as np
from common import log, options, tabular
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss

args = options(__doc__, iterations=600, data=("digits", "breast-cancer", "wine"), rate=0.0002)
x, y = tabular(args.data)
classes = np.unique(y)
model = SGDClassifier(loss="log_loss", alpha=1e-4, learning_rate="constant", eta0=args.rate, random_state=args.seed)

job = mlq.attach()
for epoch in range(1, args.iterations + 1):
    model.partial_fit(x, y, classes=classes)
    loss = log_loss(y, model.predict_proba(x), labels=classes)
    job.report(epoch, loss)
    log(epoch, loss)
