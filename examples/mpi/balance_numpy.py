#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Logistic regression by mini-batches with mpi4py and NumPy: batches sized by what each rank can do.

    srun --mpi=pmix -n 4 python3 balance_numpy.py        # in a job of --ml-quality=batch=4096; pmi2 for mpi4py on MPICH, or
    mpiexec -n 4 python3 balance_numpy.py

--slow RANK makes one rank do every sample's work five times, as if its core were five times slower.
"""

import argparse
import os
import time

import numpy as np
from mpi4py import MPI

import mlq
import mlq.balance

SAMPLES, FEATURES = 40_000, 400


def gradient(weights, x, y):
    """Of the mean loss of these samples, with that loss."""
    margin = x @ weights
    loss = np.logaddexp(0, -y * margin)
    return x.T @ (-y / (1 + np.exp(y * margin))) / len(y), float(loss.mean())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--slow", type=int, default=-1)
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--batch", type=int, default=int(os.environ.get("MLQ_GLOBAL_BATCH", "4096")))
    options = parser.parse_args()
    world = MPI.COMM_WORLD
    rank, ranks = world.Get_rank(), world.Get_size()

    draw = np.random.default_rng(1)  # the same data on every rank
    x = draw.normal(size=(SAMPLES, FEATURES))
    y = np.where(x @ draw.normal(size=FEATURES) + draw.normal(size=SAMPLES) > 0, 1.0, -1.0)
    weights, everybody, loss = np.zeros(FEATURES), np.empty(ranks * mlq.balance.FIELDS), 0.0
    balancer = mlq.balance.Balancer(options.batch, ranks, rank)

    with mlq.attach() as job:
        for iteration in range(options.iterations):
            order = np.random.default_rng([2, iteration]).choice(SAMPLES, options.batch, replace=False)
            mine = order[balancer.offset : balancer.offset + balancer.size]
            start = time.perf_counter()
            for _ in range(5 if rank == options.slow else 1):
                own, own_loss = gradient(weights, x[mine], y[mine])
            seconds = time.perf_counter() - start

            # weighted by its share, the sum is the gradient of the whole batch
            total = np.append(own, own_loss) * balancer.weight
            world.Allreduce(MPI.IN_PLACE, total)
            weights -= 2.0 * total[:-1]
            loss = total[-1]
            job.report(iteration, loss)

            vector = np.array(balancer.vector(seconds, len(mine)))
            world.Allgather(vector, everybody)
            balancer.update(everybody)

    if rank == 0:
        print(f"loss {loss:.9f}, batches {balancer.sizes}")


if __name__ == "__main__":
    main()
