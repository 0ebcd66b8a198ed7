#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A training that goes on from its checkpoint: it saves when it gets SIGTERM or SIGUSR1, and ends."""
import argparse
import os
import pathlib
import signal
import sys
import time

import mlq

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--work", type=float, default=0.4, help="core-seconds of an iteration")
parser.add_argument("--half-life", type=float, default=1000.0, help="iterations")
parser.add_argument("--iterations", type=int, default=1000000)
parser.add_argument("--forgetful", action="store_true", help="saves, and never looks at what it saved")
parser.add_argument("--deaf", action="store_true", help="saves every 10 iterations, and takes no notice of signals")
args = parser.parse_args()

if int(os.environ.get("RANK", "0")):  # the others only are there
    signal.pause()
cores = int(os.environ.get("MLQ_CORES") or os.environ["SLURM_NTASKS"])
saved = args.folder / "saved"
told = []


def save(i):
    new = args.folder / "new"
    new.write_text(str(i))
    new.rename(saved)


def note(number, frame):
    told.append(signal.Signals(number).name)
    with open(args.folder / "signals", "a") as file:
        file.write(told[-1] + " ")


for wanted in (signal.SIGTERM, signal.SIGUSR1):
    signal.signal(wanted, note)
first = int(saved.read_text()) if saved.exists() and not args.forgetful else 0
with open(args.folder / "runs", "a") as file:
    file.write(f"{first} {cores} {os.environ['SLURM_NTASKS']} {os.environ.get('WORLD_SIZE', 0)}\n")
job = mlq.attach()
for i in range(first, args.iterations):
    job.report(i, 0.1 + 2 * 0.5 ** (i / args.half_life))
    until = time.monotonic() + args.work / cores
    while time.monotonic() < until:
        time.sleep(max(0.0, min(0.05, until - time.monotonic())))
    if args.deaf and i % 10 == 0:
        save(i + 1)
    if told and not args.deaf:
        save(i + 1)
        break
job.close()
sys.exit(0)
