#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""mlq run on a private Slurm: a training that grows and shrinks over two kinds of nodes, and nothing left behind.

The test says the targets in the scheduler's place. Needs root and an installed tree (MLQ_STAGE, default build/stage).
"""
import collections
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

from agent_case import PACKAGE, PYTHON, AgentCase, processes
from cluster import ROOT, TERMINAL, wait_until

TRAINING = ROOT / "tests/python/elastic_training.py"
SAMPLES = 203


class Agent(AgentCase):
    options = ("--nodes", "4", "--cpus", "4", "--scheduler", "backfill",
               "--conf", "PartitionName=fast Nodes=n[1-2] Default=NO MaxTime=INFINITE State=UP",
               "--conf", "PartitionName=slow Nodes=n[3-4] Default=NO MaxTime=INFINITE State=UP",
               "--conf", "SlurmctldTimeout=30")

    # --- tests ----------------------------------------------------------------------------------
    def logs(self, generation=None):
        rows = []
        for path in self.folder.glob("log-*"):
            if generation is None or path.name.startswith(f"log-{generation}-"):
                rows += [json.loads(line) for line in path.read_text().splitlines() if line.endswith("]")]
        return rows

    def train_on(self, job, lines=30):
        generation = self.agent(job)["generation"]
        wait_until("it trains", lambda: len(self.logs(generation)) >= lines, 60)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "needs PyTorch")
    def test_a_training_goes_over_two_kinds_of_nodes_and_back(self):
        job = self.start("env", "PAUSE=0.02", "PAUSE_ON=n3:0.06,n4:0.06", PYTHON, TRAINING, self.folder)
        self.steady(job, 1)
        self.train_on(job)
        self.want(job, 3, [("fast", 1), ("slow", 1)])
        self.steady(job, 3, 120)
        self.train_on(job)
        nodes = [node for _, node in self.companions(job).values()]
        self.assertEqual({n in ("n1", "n2") for n in nodes}, {True, False})
        self.want(job, 1)
        self.steady(job, 1)
        wait_until("the companions have ended",
                   lambda: [s for s, _ in self.companions(job).values() if s == "COMPLETED"] == ["COMPLETED"] * 2)
        self.train_on(job)
        state = self.agent(job)
        self.assertLessEqual(state["moves"], 4)  # each companion comes and goes once at most
        print(f"    moves {state['moves']}, without progress {state['lost_s']:.2f} s, last move {state['move_s']:.2f} s", flush=True)
        self.finish(job)
        import torch
        final = torch.load(self.folder / "final-0.pt")
        seen = collections.Counter((row[0], sample) for row in self.logs() for sample in row[3])
        self.assertEqual(seen, collections.Counter({(e, s): 1 for e in range(final["epochs"]) for s in range(SAMPLES)}))
        other = self.folder / "other"
        other.mkdir()
        plain = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PACKAGE), "RANK": "0", "WORLD_SIZE": "1",
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "19999"}
        subprocess.run([PYTHON, TRAINING, other, str(final["epochs"])], env=plain, check=True, timeout=300)
        want = torch.load(other / "final-0.pt")
        worst = max(float((a - b).abs().max()) for a, b in zip(final["parameters"], want["parameters"]))
        print(f"    {final['epochs']} epochs, largest difference of a parameter {worst:.3g}", flush=True)
        self.assertLess(worst, 1e-8)

    def test_accounting_and_requests_of_companions(self):
        job, companions = self.grown(options=("--time=30", "--qos=normal"))
        for companion in companions:
            shown = self.c.show(companion)
            self.assertEqual((shown["NumNodes"], shown["NumCPUs"], shown["Requeue"]), ("1", "1", "0"))
            self.assert_ends_with(companion, job)
            self.assertEqual((shown["Account"], shown["QOS"]), (self.c.show(job)["Account"], "normal"))
        self.finish(job)
        self.nothing_left(job)
        self.assertEqual([self.c.state(i) for i in companions], ["COMPLETED"] * 2)

    def test_scancel_of_the_parent(self):
        job, _ = self.grown()
        self.c.run("scancel", job)
        self.nothing_left(job)

    def test_time_limit_of_the_parent(self):
        job = self.start_worker(options=("--time=3",))
        self.want(job, 2, [("slow", 1)])
        self.steady(job, 2)
        self.c.run("scontrol", "update", f"JobId={job}", "TimeLimit=1")
        self.c.wait_state(job, "TIMEOUT", 120)
        self.nothing_left(job)

    def test_crash_of_the_training(self):
        job, _ = self.grown()
        rank0 = [p for p in processes(self.mark)
                 if b"worker.py" in pathlib.Path(f"/proc/{p}/cmdline").read_bytes()
                 and b"\0RANK=0\0" in pathlib.Path(f"/proc/{p}/environ").read_bytes()
                 and b"mlq\0run" not in pathlib.Path(f"/proc/{p}/cmdline").read_bytes()]
        os.kill(rank0[-1], signal.SIGSEGV)
        self.c.wait_state(job, TERMINAL)
        self.assertEqual(self.c.state(job), "FAILED")
        self.nothing_left(job)

    def agent_process(self, text):
        found = [int(p.name) for p in pathlib.Path("/proc").iterdir() if p.name.isdigit() and self.holds(p, text)]
        self.assertEqual(len(found), 1, found)
        return found[0]

    def holds(self, path, text):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
            environment = (path / "environ").read_bytes()
            # job ids repeat themselves: other clusters of this machine have agents too
            ours = text.encode() in environment and str(self.c.dir).encode() in environment
            return words[1:2] == [b"run"] and ours and b"(mlq-keeper)" not in (path / "stat").read_bytes()
        except OSError:
            return False

    def test_killed_agent_of_the_parent(self):
        job, _ = self.grown()
        os.kill(self.agent_process(f"SLURM_JOB_ID={job}\0"), signal.SIGKILL)
        self.nothing_left(job)

    def test_killed_agent_of_a_companion(self):
        job, companions = self.grown()
        self.want(job, 2)
        os.kill(self.agent_process(f"SLURM_JOB_ID={companions[0]}\0"), signal.SIGKILL)
        self.steady(job, 2, 30)
        self.finish(job)
        self.nothing_left(job)

    def test_scancel_of_a_companion(self):
        job, companions = self.grown()
        self.want(job, 2)
        self.c.run("scancel", companions[0])
        self.steady(job, 2, 30)
        self.finish(job)
        self.nothing_left(job)

    def test_node_of_a_companion_fails(self):
        job, companions = self.grown()
        victim = next(i for i, (_, node) in self.companions(job).items() if node in ("n3", "n4"))
        node = self.companions(job)[victim][1]
        self.want(job, 2)
        self.c.kill(node)
        self.addCleanup(self.c.try_run, "scontrol", "update", f"NodeName={node}", "State=RESUME")  # if it has not come back itself
        self.addCleanup(self.c.restart, node)
        self.c.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test")
        self.steady(job, 2, 30)
        self.assertIn(victim, companions)
        self.finish(job)
        self.nothing_left(job)

    def test_killed_mlqd(self):
        job, _ = self.grown()
        self.c.kill("mlqd")
        time.sleep(5)
        self.c.restart("mlqd")
        self.want(job, 1)
        self.steady(job, 1)
        self.finish(job)
        self.nothing_left(job)

    def test_killed_slurmctld(self):
        job, _ = self.grown()
        self.c.run("scontrol", "update", f"JobId={job}", "Comment=changed")
        self.c.wait_saved()
        self.c.kill("slurmctld")
        self.want(job, 2)  # giving back needs no slurmctld
        wait_until("two ranks", lambda: self.agent(job).get("ranks") == 2, 30)
        self.c.restart("slurmctld")
        wait_until("slurmctld knows that it has ended",
                   lambda: [s for s, _ in self.companions(job).values()].count("RUNNING") == 1, 60)
        self.finish(job)
        self.nothing_left(job)


if __name__ == "__main__":
    unittest.main()
