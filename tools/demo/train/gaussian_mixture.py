#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Gaussian mixture by expectation maximisation; reports the mean log likelihood, so submit it with goal=max."""
import warnings

import mlq
from common import digits, log, options
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

args = options(__doc__, iterations=60, components=12, dimensions=24)
images, _ = digits(shifted=True)
x = PCA(args.dimensions, random_state=args.seed).fit_transform(images.reshape(len(images), -1))
model = GaussianMixture(args.components, covariance_type="full", max_iter=1, warm_start=True, reg_covar=1e-4,
                        init_params="random", random_state=args.seed)
warnings.simplefilter("ignore", ConvergenceWarning)  # each fit() is one iteration here

job = mlq.attach()
for iteration in range(1, args.iterations + 1):
    model.fit(x)
    job.report(iteration, model.lower_bound_)
    log(iteration, model.lower_bound_)
