#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A training whose losses are known: loss(i) = 0.1 + 2 * 0.5 ** (i / half-life), reported through the package mlq."""
import argparse
import time

import mlq

parser = argparse.ArgumentParser()
parser.add_argument("--iterations", type=int, default=100)
parser.add_argument("--interval", type=float, default=0.1)
parser.add_argument("--half-life", type=float, default=10.0)
args = parser.parse_args()

job = mlq.attach()
for i in range(args.iterations):
    job.report(i, 0.1 + 2 * 0.5 ** (i / args.half_life))
    time.sleep(args.interval)
job.close()
