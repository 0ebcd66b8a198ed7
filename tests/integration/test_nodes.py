#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole nodes of a running job are given to ML jobs that wait, again and again, over reconfigurations and restarts of
slurmctld: the records of Slurm and of its accounting stay right."""
import re
import shutil
import time
import unittest
import pathlib

from cluster import STAGE, ClusterTest, wait_until

TRAINER = pathlib.Path(__file__).with_name("saving_trainer.py")
PARAMETERS = "mlq_interval=1,mlq_horizon=30,mlq_dwell=1,mlq_lead=5,mlq_resize=all"


class Nodes(ClusterTest):
    options = ("--nodes", "3", "--cpus", "4", "--parameters", PARAMETERS)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        shutil.copy(TRAINER, cls.c.work / "saving_trainer.py")

    def setUp(self):
        super().setUp()
        self.c.set_parameters(PARAMETERS)

    def train(self, quality="resize=companion,min=4,max=12"):
        self.folder = self.c.work / f"t-{time.monotonic_ns()}"
        self.folder.mkdir(mode=0o777)
        job = self.c.submit("-N3", "-n12", "--ntasks-per-node=4", f"--ml-quality={quality}", script=(
            f"exec {STAGE}/bin/mlq run --restart --grace 5 -- /usr/bin/python3 {self.c.work}/saving_trainer.py {self.folder}"))
        self.c.wait_state(job, "RUNNING")
        return job

    def agent(self, job):
        try:
            return self.c.quality(job).get("agent") or {}
        except AssertionError:
            return {}

    def shape(self, job):
        shown = self.c.show(job)
        return shown["JobState"], int(shown["NumNodes"]), int(shown["NumCPUs"]), shown["NodeList"], shown["BatchHost"]

    def wait_ranks(self, job, ranks):
        wait_until(f"{ranks} ranks", lambda: (self.agent(job).get("phase"), self.agent(job).get("ranks")) == ("steady", ranks), 90)

    def known(self, job):
        wait_until("its speed is known", lambda: "has not been seen yet" not in self.c.status(job).get("resize", {}).get(
            "reason", "has not been seen yet"), 60)

    def shrink(self, job, nodes, left):
        """An ML job that needs a node waits, and gets one."""
        self.known(job)
        other = self.c.submit("-N1", "-n4", "--ml-quality=family=other", script="exec sleep 1000")
        self.c.wait_state(other, "RUNNING", 90)
        self.wait_ranks(job, 4 * nodes)
        state, have, cpus, names, host = self.shape(job)
        self.assertEqual((state, have, cpus, host), ("RUNNING", nodes, 4 * nodes, "n1"))
        self.assertEqual(sorted(self.agent(job)["left_nodes"]), left)
        self.assertEqual(self.c.show(other)["NodeList"], left[0])
        return other

    def errors(self, mark):
        """What slurmctld had to complain of, but for the MPI library that this machine has not."""
        return [line for line in self.c.log()[mark:].splitlines()
                if re.search(r"error:|fatal:|underflow|inconsist", line) and not re.search("mpi/pmix|MPI:", line)]

    def test_shrunk_twice_reconfigured_and_restarted_three_times_over(self):
        mark = len(self.c.log())
        for _ in range(3):
            job = self.train()
            self.wait_ranks(job, 12)
            others = [self.shrink(job, 2, ["n3"]), self.shrink(job, 1, ["n2", "n3"])]
            self.c.wait_cycles(2)  # since 23.11 a reconfigure starts slurmctld anew: it knows what was written
            self.c.run("scontrol", "reconfigure")
            self.c.wait_cycles(6)
            self.c.restart("slurmctld")
            self.c.wait_cycles(3)
            self.assertEqual(self.shape(job)[:4], ("RUNNING", 1, 4, "n1"))
            self.assertEqual([self.c.state(o) for o in others], ["RUNNING"] * 2)
            self.wait_ranks(job, 4)
            self.c.wait_cycles(6)
            self.c.cancel_all()
            self.check_accounting(job)
            wait_until("all nodes are idle", lambda: self.c.run("sinfo", "-h", "-o", "%t").split() == ["idle"], 60)
        self.assertEqual(self.errors(mark), [])

    def check_accounting(self, job):
        rows = lambda: [r.split("|") for r in self.c.run("sacct", "-X", "-n", "-P", "-D", "-S", "now-1days", "-j", job, "-o",
                                                         "ElapsedRaw,AllocCPUS,NNodes,NodeList,State,End").splitlines()]
        wait_until("accounting has the end", lambda: all(r[5] != "Unknown" for r in rows()), 60)
        self.assertEqual([(int(r[1]), r[3]) for r in rows()], [(12, "n[1-3]"), (8, "n[1-2]"), (4, "n1")])
        wait_until("the last text is there", lambda: '"final":true' in self.c.show(job)["AdminComment"], 60)
        self.c.wait_cycles(2)
        # since 23.11 each record's elapsed time counts from the job's start: the time of a size is what lies between two ends
        ends = [time.mktime(time.strptime(r[5], "%Y-%m-%dT%H:%M:%S")) for r in rows()]
        begins = [ends[0] - int(rows()[0][0])] + ends[:-1]
        total = sum((end - begin) * int(r[1]) for begin, end, r in zip(begins, ends, rows()))
        report = dict(line.split("|")[:2] for line in self.c.run("mlq", "report", "-P", job).splitlines())
        print(f"    core-seconds by sacct: {total}, {rows()}; by mlq report: {report}", flush=True)
        self.assertAlmostEqual(float(report["total"]), total, delta=8)

    def test_never_below_the_minimum_nor_without_being_switched_on(self):
        for parameters, quality in ((PARAMETERS, "resize=companion,min=12,max=12"), (PARAMETERS, "resize=companion,max=12"),
                                    (PARAMETERS.replace("all", "requeue"), "resize=companion,min=4,max=12")):
            self.c.set_parameters(parameters)
            job = self.train(quality)
            self.wait_ranks(job, 12)
            self.known(job)
            other = self.c.submit("-N1", "-n4", "--ml-quality=family=other")
            self.c.wait_cycles(12)
            self.assertEqual((self.shape(job)[1], self.c.state(other)), (3, "PENDING"))
            self.c.cancel_all()


if __name__ == "__main__":
    unittest.main()
