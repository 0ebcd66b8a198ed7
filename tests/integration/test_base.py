#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""mlq run on a base allocation of two nodes: its srun starts the agent of the other node, and whatever ends one ends both.

Needs root and an installed tree (MLQ_STAGE, default build/stage).
"""
import os
import pathlib
import signal
import time
import unittest

from agent_case import PYTHON, AgentCase, processes
from cluster import TERMINAL, wait_until

# says who it is, notes the signals that it gets, and ends as the files in its folder say
RANK = """
import os, pathlib, signal, sys, time
folder, rank, generation = pathlib.Path(sys.argv[1]), os.environ["RANK"], os.environ["MLQ_GENERATION"]
def note(number, frame):
    with open(folder / f"signals-{generation}-{rank}", "a") as file:
        file.write(signal.Signals(number).name + " ")
    if number == signal.SIGTERM:
        sys.exit(0)
for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM):
    signal.signal(number, note)
(folder / f"at-{generation}-{rank}").write_text(" ".join(os.environ[name] for name in (
    "SLURMD_NODENAME", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "MLQ_UNITS", "MLQ_CORES")))
print(f"rank {rank} is here", flush=True)
beats = 0
while not (folder / "finish").exists():
    code = folder / f"exit-{rank}"
    if code.exists():
        os._exit(int(code.read_text()))
    beats += 1
    (folder / f"beat-{rank}").write_text(str(beats))
    time.sleep(0.1)
"""


class Base(AgentCase):
    options = ("--nodes", "3", "--cpus", "4", "--scheduler", "backfill",
               "--conf", "PartitionName=fast Nodes=n[1-2] Default=NO MaxTime=INFINITE State=UP",
               "--conf", "PartitionName=slow Nodes=n3 Default=NO MaxTime=INFINITE State=UP",
               "--conf", "SlurmctldTimeout=30")
    TWO = ("-N2", "-n4", "--ntasks-per-node=2")

    def begin(self, ranks, options=TWO, run=()):
        path = self.folder / "rank.py"
        path.write_text(RANK)
        job = self.start(PYTHON, path, self.folder, options=options, run=run)
        self.present(ranks)
        return job

    def present(self, ranks, generation=1):
        wait_until(f"{ranks} ranks of generation {generation} are there",
                   lambda: len([p for p in self.folder.glob(f"at-{generation}-*") if p.read_text()]) == ranks, 60)

    def places(self, generation=1):
        return {int(p.name.split("-")[2]): p.read_text().split() for p in self.folder.glob(f"at-{generation}-*")}

    def signals(self, rank, generation=1):
        path = self.folder / f"signals-{generation}-{rank}"
        return path.read_text().split() if path.exists() else []

    def beats(self, rank):
        return (self.folder / f"beat-{rank}").read_text()

    def beat_on(self, ranks):
        before = {rank: self.beats(rank) for rank in ranks}
        wait_until("all go on", lambda: all(self.beats(r) not in ("", before[r]) for r in ranks), 20)

    def test_ranks_on_both_nodes(self):
        job = self.begin(4, run=("--label",))
        places = self.places()
        self.assertEqual([places[r][0] for r in range(4)], ["n1", "n1", "n2", "n2"])
        self.assertEqual([places[r][1:4] for r in range(4)], [["4", str(r % 2), "2"] for r in range(4)])
        self.assertEqual(len({tuple(places[r][4:6]) for r in range(4)}), 1)
        self.assertEqual([places[r][6:] for r in range(4)], [["4", "4"]] * 4)
        self.finish(job)
        out = (self.c.work / f"out-{job}").read_text()
        for rank in range(4):
            self.assertIn(f"[{rank}] rank {rank} is here\n", out)
        self.nothing_left(job)
        self.assertNotIn("srun:", out)  # the other node's agent ends by itself
        self.assertEqual({tuple(row) for row in self.sacct_steps(job)},
                         {(step, "COMPLETED", "0:0") for step in (str(job), f"{job}.batch", f"{job}.0")})

    def sacct_steps(self, job):
        rows = lambda: [r.split("|") for r in
                        self.c.run("sacct", "-n", "-P", "-S", "now-1days", "-j", job, "-o", "JobID,State,ExitCode").splitlines()]
        ended = lambda found: f"{job}.0" in [r[0] for r in found] and all(r[1] != "RUNNING" for r in found)
        wait_until("accounting has the steps' ends", lambda: ended(rows()), 30)
        return [r for r in rows() if not r[0].endswith(".extern")]

    def test_ranks_of_nodes_of_unequal_size(self):
        filler = self.c.submit("-p", "fast", "-w", "n2", "-n3")
        self.c.wait_state(filler, "RUNNING")
        job = self.begin(5, options=("-N2", "-n5"))
        places = self.places()
        self.assertEqual([places[r][0] for r in range(5)], ["n1"] * 4 + ["n2"])
        self.assertEqual([places[r][3] for r in range(5)], ["4"] * 4 + ["1"])
        self.finish(job)

    def test_a_failed_rank_of_the_second_node_ends_all(self):
        job = self.begin(4)
        (self.folder / "exit-3").write_text("7")
        self.c.wait_state(job, TERMINAL)
        self.assertEqual((self.c.state(job), self.c.show(job)["ExitCode"]), ("FAILED", "7:0"))
        self.assertIn("rank 3 on node 1 ended with exit code 7; the group is ended", (self.c.work / f"out-{job}").read_text())
        self.assertEqual([self.signals(r) for r in range(3)], [["SIGTERM"]] * 3)
        self.nothing_left(job)

    def test_scancel(self):
        job = self.begin(4)
        self.c.run("scancel", job)
        self.nothing_left(job)
        self.assertEqual(self.signals(0), ["SIGTERM"])

    def test_killed_agents(self):
        for rank in (0, 2):  # of the batch host, then of the other node
            job = self.begin(4)
            os.kill(self.agent_of(rank), signal.SIGKILL)
            self.c.wait_state(job, TERMINAL)
            self.assertEqual(self.c.state(job), "FAILED")
            self.nothing_left(job)
            for path in self.folder.glob("at-*"):
                path.unlink()

    def agent_of(self, rank):
        for pid in processes(self.mark):
            if f"\0RANK={rank}\0".encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes():
                return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()[1])
        self.fail(f"no rank {rank}")

    def test_stop_and_continue_go_to_all_ranks(self):
        job = self.begin(4)
        agent = self.agent_of(0)
        os.kill(agent, signal.SIGTSTP)
        wait_until("none goes on", lambda: self.stopped(range(4)), 20)
        os.kill(agent, signal.SIGCONT)
        self.beat_on(range(4))
        os.kill(agent, signal.SIGUSR1)
        wait_until("all have it", lambda: all(self.signals(r) == ["SIGUSR1"] for r in range(4)), 20)
        self.finish(job)

    def stopped(self, ranks):
        before = [self.beats(r) for r in ranks]
        time.sleep(0.6)
        return "" not in before and before == [self.beats(r) for r in ranks]

    def test_suspended_for_longer_than_the_links_are_patient(self):
        job = self.begin(4)
        self.c.run("scontrol", "suspend", job)
        wait_until("none goes on", lambda: self.stopped(range(4)), 20)
        time.sleep(14)
        self.c.run("scontrol", "resume", job)
        self.beat_on(range(4))
        time.sleep(5)
        self.beat_on(range(4))
        self.finish(job)
        self.nothing_left(job)

    def test_restart_with_a_signal_of_ones_own(self):
        job = self.begin(4, run=("--restart", "--resize-signal", "USR2", "--lead", "3"))
        self.want(job, 5, [("slow", 1)], base=4)
        self.present(5, generation=2)
        for rank in range(4):  # it did not end by itself: SIGTERM came when the lead time was over
            self.assertEqual(self.signals(rank), ["SIGUSR2", "SIGTERM"])
        self.assertEqual([self.places(2)[r][0] for r in range(5)], ["n1", "n1", "n2", "n2", "n3"])
        self.assertEqual(self.places(2)[4][1:4], ["5", "0", "1"])
        self.want(job, 4, base=4)
        self.present(4, generation=3)
        self.steady(job, 4)
        self.assertEqual(self.signals(4, 2), ["SIGUSR2", "SIGTERM"])
        self.finish(job)
        self.nothing_left(job)

    def test_companions_go_when_mlqd_is_silent(self):
        self.addCleanup(self.c.restart, "mlqd")
        job = self.begin(4, run=("--restart", "--silence", "4"))
        self.want(job, 5, [("slow", 1)], base=4)
        self.present(5, generation=2)
        self.c.kill("mlqd")
        self.present(4, generation=3)
        self.assertIn("mlqd has been silent for 4 s: the companions are given back", (self.c.work / f"out-{job}").read_text())
        wait_until("the companion has ended", lambda: [s for s, _ in self.companions(job).values()] == ["COMPLETED"], 30)
        self.beat_on(range(4))
        self.finish(job)


if __name__ == "__main__":
    unittest.main()
