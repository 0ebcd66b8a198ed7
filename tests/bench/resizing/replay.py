#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Replays a recorded loss curve: a step takes serial + work / cores seconds, so cores that come make it go faster. A step is
many mini-batches, as an epoch of a training is; between two of them the group may re-form.

Rank 0 writes `time iteration loss cores` for each step to --log and reports the loss; the other ranks only hold their
cores. Under `mlq run` the number of cores follows the group; alone it is --cores.
"""
import argparse
import csv
import pathlib
import time

import mlq
from mlq import elastic


def curve(path, steps):
    """The losses of the file, thinned evenly to at most `steps`, the last one kept."""
    with open(path, newline="") as file:
        losses = [float(row["loss"]) for row in csv.DictReader(file)]
    if len(losses) <= steps:
        return losses
    return [losses[round(i * (len(losses) - 1) / (steps - 1))] for i in range(steps)]


def regroup(agent, pause=0.0):
    """Goes where the agent wants this rank, which takes so long; False when it is to leave."""
    due = agent.due()
    if due:
        if agent.place(due) is None:
            return False
        time.sleep(pause)
        agent.formed()
    return True


def hold(agent, done):
    """A rank other than 0: there until rank 0 has finished or the agent takes it back."""
    while regroup(agent) and not done.exists():
        time.sleep(0.1)


class Pace:
    """Sleeps by the clock, so that late awakenings do not add up."""

    def __init__(self):
        self.due = time.monotonic()

    def go(self, seconds):
        self.due += seconds
        time.sleep(max(0.0, self.due - time.monotonic()))

    def stood(self):
        """What passed meanwhile was no work."""
        self.due = max(self.due, time.monotonic())


def step(args, work, agent, pace):
    """One step of `work` core-seconds: batches of at most --batch seconds, between which the group may re-form. Its cores."""
    left = 1.0
    while left > 0:
        if agent.due():
            regroup(agent, args.pause)
            pace.stood()
        cores = agent.now.units if agent.active else args.cores
        seconds = work * (args.serial + (1 - args.serial) / cores)
        share = min(left, args.batch / seconds)
        pace.go(share * seconds)
        left -= share
    return cores


def replay(args, losses, agent, done):
    """Rank 0."""
    work, pace = args.work / len(losses), Pace()
    with mlq.attach() as job, open(args.log, "a", buffering=1) as log:
        for iteration, loss in enumerate(losses):
            cores = step(args, work, agent, pace)
            print(time.time(), iteration, loss, cores, file=log)
            job.report(iteration, loss)
    done.touch()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--curve", required=True, type=pathlib.Path)
    parser.add_argument("--log", required=True, type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--work", type=float, required=True, help="core-seconds of the whole run")
    parser.add_argument("--serial", type=float, default=0.02, help="share of a step on one core that more cores do not help")
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--batch", type=float, default=0.2, help="most seconds between two points at which the group may re-form")
    parser.add_argument("--pause", type=float, default=0.3, help="seconds to re-form a group")
    args = parser.parse_args()
    done = args.log.with_suffix(".done")
    agent = elastic.Agent()
    place = agent.first_place()
    agent.formed()
    if place.rank == 0:
        replay(args, curve(args.curve, args.steps), agent, done)
    else:
        hold(agent, done)


if __name__ == "__main__":
    main()
