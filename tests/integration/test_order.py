#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""With the plugin loaded and no ML job, 50 mixed jobs start in the same order as under sched/backfill."""
import contextlib
import os
import random
import threading
import time
import unittest

from cluster import Cluster, wait_until

JOBS = 50
REST_S = 4
OPTIONS = ("--nodes", "2", "--cpus", "4", "--conf", "AccountingStorageEnforce=associations,qos",
           # what depends on the second in which a job was looked at would make two runs of stock Slurm differ
           "--conf", "PriorityWeightAge=0", "--conf", "PriorityWeightFairshare=0", "--conf", "PriorityWeightJobSize=100")


def submissions():
    """Options of the jobs, the same for every cluster: sizes, limits, nice, QOS, priorities, holds, dependencies."""
    dice = random.Random(20240229)
    jobs = []
    for n in range(JOBS):
        # limits long and far apart, so that a minute more or less changes no plan
        options = [f"-n{dice.choice([1, 1, 2, 3, 4, 6, 8])}", f"--time={dice.choice([61, 127, 251, 509, 1021])}"]
        kind = dice.randrange(10)
        options.append(f"--nice={dice.randrange(0, 900)}")
        if kind == 1:
            options.append("--qos=better")
        elif kind == 2 and n > 5:
            options.append(f"--dependency=afterany:{dice.randrange(1, n)}")
        elif kind == 3:
            options.append("--exclusive")
        elif kind == 4:
            options.append("--hold")
        elif kind == 5:
            options.append(f"--priority={dice.randrange(100, 5000)}")
        elif kind == 6:
            options += ["-N2", "--contiguous"]
        elif kind == 7:
            options.append("--nodelist=n2")
            options[0] = "-n2"
        jobs.append(options)
    return jobs


class Run(threading.Thread):
    """Runs the jobs on one cluster; each step ends the running jobs that started first, and waits until nothing moves."""

    def __init__(self, cluster):
        super().__init__()
        self.c, self.steps, self.priorities, self.error = cluster, [], {}, None

    def run(self):
        try:
            self.submit()
            self.drain()
        except BaseException as error:  # given to the test's thread
            self.error = error

    def submit(self):
        c = self.c
        c.run("sacctmgr", "-i", "add", "qos", "better", "priority=100")
        c.run("sacctmgr", "-i", "modify", "user", "root", "set", "qos+=better")
        with self.nothing_planned():
            for options in submissions():
                c.submit(*options)
            self.priorities = {j: int(p) for j, p in c.jobs("%Q").items()}

    @contextlib.contextmanager
    def nothing_planned(self):
        """Slurm takes several jobs one by one and may plan between two of them: it shall see all or none."""
        self.c.run("scontrol", "update", "PartitionName=main", "State=DOWN")
        yield
        self.c.run("scontrol", "update", "PartitionName=main", "State=UP")

    def running(self):
        return frozenset(j for j, s in self.c.jobs().items() if s in ("RUNNING", "COMPLETING"))

    def backfill_cycles(self):
        for line in self.c.run("sdiag").splitlines():
            if line.strip().startswith("Total cycles:"):
                cycles = int(line.split(":")[1])
        return cycles

    def passes(self):
        """Waits for three starts of a backfill pass, so that two are whole; backfill rests when nothing changed."""
        first = cycles = self.backfill_cycles()
        since = time.monotonic()
        while cycles < first + 3 and time.monotonic() - since < REST_S:
            time.sleep(0.3)
            now = self.backfill_cycles()
            if now != cycles:
                cycles, since = now, time.monotonic()

    def settled(self):
        """The running jobs, when passes of backfill have changed nothing."""
        while True:
            before = self.running()
            self.passes()
            if self.running() == before and "COMPLETING" not in self.c.jobs().values():
                return before

    def drain(self):
        seen, ended, released = set(), [], False
        while True:
            now = self.settled()
            self.steps.append(sorted(now - seen))
            seen |= now
            if not now:
                if released:
                    return
                released = True
                held = [j for j, text in self.c.jobs("%T %r").items() if text.startswith("PENDING JobHeld")]
                with self.nothing_planned():
                    self.c.run("scontrol", "release", *held)
                continue
            first = [j for step in self.steps for j in step if j in now][:4]
            with self.nothing_planned():
                self.c.run("scancel", *first)
                wait_until("they have ended", lambda: not set(first) & self.running(), 60)


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class Order(unittest.TestCase):
    maxDiff = None

    def test_fifty_mixed_jobs_start_as_under_backfill(self):
        parameters = "bf_interval=1,bf_max_job_test=200,bf_min_age_reserve=0,bf_window=10000,bf_resolution=300"
        clusters = []
        for scheduler in ("backfill", "ml_quality"):
            extra = ",mlq_interval=1" if scheduler == "ml_quality" else ""
            clusters.append(Cluster("--scheduler", scheduler, "--parameters", parameters + extra, *OPTIONS))
            self.addCleanup(clusters[-1].close)
        runs = [Run(c) for c in clusters]
        for run in runs:
            run.start()
        for run in runs:
            run.join(900)
            self.assertFalse(run.is_alive(), "the jobs do not come to an end")
            if run.error:
                raise run.error
        stock, ours = runs
        self.assertEqual(ours.priorities, stock.priorities)
        self.assertEqual(ours.steps, stock.steps)
        started = [j for step in ours.steps for j in step]
        self.assertEqual(sorted(started), list(range(1, JOBS + 1)))
        # the order was worth comparing: it is not that of the submission
        self.assertNotEqual(started, sorted(started))


if __name__ == "__main__":
    unittest.main()
