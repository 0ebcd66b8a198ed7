#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""k-means by Lloyd's algorithm on images of digits; loss: mean squared distance to the nearest centre."""
import mlq
import numpy as np
from common import digits, log, options
from sklearn.cluster import KMeans

args = options(__doc__, iterations=60, clusters=160)
images, _ = digits(shifted=True)
x = images.reshape(len(images), -1)
centres = x[np.random.default_rng(args.seed).choice(len(x), args.clusters, replace=False)]

job = mlq.attach()
for iteration in range(1, args.iterations + 1):
    model = KMeans(args.clusters, init=centres, n_init=1, max_iter=1, algorithm="lloyd").fit(x)
    centres = model.cluster_centers_
    loss = model.inertia_ / len(x)
    job.report(iteration, loss)
    log(iteration, loss)
