# SPDX-License-Identifier: GPL-2.0-or-later
"""What the trainings share: their options and the data sets that scikit-learn carries along (nothing is downloaded)."""
import argparse

import numpy as np
from sklearn import datasets
from sklearn.preprocessing import StandardScaler


def options(description, iterations, **more):
    """Parses the command line; every training has --iterations and --seed, `more` adds typed ones by their defaults."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--iterations", type=int, default=iterations, help="how many to run (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers (default %(default)s)")
    for name, default in more.items():
        choices = default if isinstance(default, tuple) else None
        default = choices[0] if choices else default
        parser.add_argument("--" + name.replace("_", "-"), type=type(default), default=default, choices=choices,
                            help="(default %(default)s)")
    args = parser.parse_args()
    if args.iterations < 1:
        parser.error(f"argument --iterations: got {args.iterations}, must be at least 1")
    return args


def tabular(name):
    """(features, target) of a small table, features of zero mean and unit variance, float64."""
    load = {"digits": datasets.load_digits, "breast-cancer": datasets.load_breast_cancer,
            "wine": datasets.load_wine, "diabetes": datasets.load_diabetes}[name]
    x, y = load(return_X_y=True)
    return StandardScaler().fit_transform(x), y


def digits(shifted=False):
    """(images [n, 8, 8] in [0, 1], labels [n]); shifted adds every image moved one pixel to each of the four sides."""
    bunch = datasets.load_digits()
    images, labels = bunch.images / 16.0, bunch.target
    if not shifted:
        return images, labels
    moved = [images]
    for axis, by in ((1, 1), (1, -1), (2, 1), (2, -1)):
        copy = np.roll(images, by, axis=axis)
        edge = [slice(None)] * 3
        edge[axis] = 0 if by == 1 else -1
        copy[tuple(edge)] = 0.0  # what np.roll carried round the edge
        moved.append(copy)
    return np.concatenate(moved), np.tile(labels, 5)


def split(x, y, seed, held_out=0.2):
    """Shuffles and splits into (x, y) to train on and (x, y) held out."""
    order = np.random.default_rng(seed).permutation(len(x))
    cut = int(len(x) * (1.0 - held_out))
    return (x[order[:cut]], y[order[:cut]]), (x[order[cut:]], y[order[cut:]])


def log(iteration, loss):
    """A line in the job's output, precise enough to compare with what was reported."""
    print(f"iteration {iteration} loss {loss:.9g}", flush=True)
