#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Latent Dirichlet allocation by online variational Bayes, images of digits as bags of pixels; loss: log perplexity."""
import mlq
import numpy as np
from common import log, options
from sklearn.datasets import load_digits
from sklearn.decomposition import LatentDirichletAllocation

args = options(__doc__, iterations=20, topics=10, batch=256)
counts = load_digits().data
rng = np.random.default_rng(args.seed)
model = LatentDirichletAllocation(args.topics, max_doc_update_iter=20, learning_offset=20.0,
                                  random_state=args.seed)

job = mlq.attach()
for epoch in range(1, args.iterations + 1):
    order = rng.permutation(len(counts))
    for start in range(0, len(counts), args.batch):
        model.partial_fit(counts[order[start:start + args.batch]])
    loss = np.log(model.perplexity(counts))
    job.report(epoch, loss)
    log(epoch, loss)
