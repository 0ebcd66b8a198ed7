#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Linear regression on the diabetes data with quadratic features by gradient descent; loss: mean squared error."""
import mlq
from common import log, options, tabular
from sklearn.linear_model import SGDRegressor
from sklearn.metrics import mean_squared_error
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

args = options(__doc__, iterations=4000, rate=0.00001, degree=3)
x, y = tabular("diabetes")
x = StandardScaler().fit_transform(PolynomialFeatures(args.degree, include_bias=False).fit_transform(x))
model = SGDRegressor(alpha=1e-4, learning_rate="constant", eta0=args.rate, random_state=args.seed)

job = mlq.attach()
for epoch in range(1, args.iterations + 1):
    model.partial_fit(x, y)
    loss = mean_squared_error(y, model.predict(x))
    job.report(epoch, loss)
    log(epoch, loss)
