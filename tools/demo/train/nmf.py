#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Non-negative matrix factorisation of images by multiplicative updates (Lee and Seung); loss: mean squared error."""
import mlq
import numpy as np
from common import digits, log, options

args = options(__doc__, iterations=300, rank=24)
images, _ = digits(shifted=True)
v = images.reshape(len(images), -1)
rng = np.random.default_rng(args.seed)
w = rng.random((v.shape[0], args.rank)) * np.sqrt(v.mean() / args.rank)
h = rng.random((args.rank, v.shape[1])) * np.sqrt(v.mean() / args.rank)
tiny = np.finfo(v.dtype).tiny

job = mlq.attach()
for iteration in range(1, args.iterations + 1):
    h *= (w.T @ v) / np.maximum(w.T @ w @ h, tiny)
    w *= (v @ h.T) / np.maximum(w @ (h @ h.T), tiny)
    loss = np.mean((v - w @ h) ** 2)
    job.report(iteration, loss)
    log(iteration, loss)
