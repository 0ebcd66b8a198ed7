#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""SchedulerParameters' mlq_ keys: taken at the start and by reconfigure, wrong ones said and harmless; no new port."""
import os
import pathlib
import re
import unittest

from cluster import ClusterTest, wait_until

GOOD = "mlq_interval=1,mlq_horizon=20"


def listening(pid):
    """(TCP ports, Unix sockets) that the process listens on."""
    inodes = set()
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            inodes.update(re.findall(r"^socket:\[(\d+)\]$", os.readlink(fd)))
        except OSError:
            pass
    ports, paths = set(), set()
    for name in ("tcp", "tcp6", "udp", "udp6"):
        for line in pathlib.Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
            field = line.split()
            if field[9] in inodes and (field[3] == "0A" or name.startswith("udp")):
                ports.add(int(field[1].split(":")[1], 16))
    for line in pathlib.Path(f"/proc/{pid}/net/unix").read_text().splitlines()[1:]:
        field = line.split()
        if field[6] in inodes and int(field[3], 16) & 0x10000:
            paths.add(field[7] if len(field) > 7 else "")
    return ports, paths


class Config(ClusterTest):
    options = ("--nodes", "1", "--cpus", "4", "--parameters", GOOD)

    def setUp(self):
        super().setUp()
        self.addCleanup(self.c.set_parameters, GOOD)

    def ranked_job(self):
        self.c.submit("-n4", "--exclusive", "--priority=4000000000")
        job = self.c.train("-n1", "--exclusive", quality="family=config")
        wait_until("the job is ranked", lambda: self.c.site(job) == 10000)
        return job

    def new_log(self, parameters):
        mark = len(self.c.log())
        self.c.set_parameters(parameters)
        wait_until("the new values are in the log", lambda: "sched/ml_quality: version=" in self.c.log()[mark:])
        return self.c.log()[mark:]

    def test_first_line_says_versions_and_values(self):
        self.assertRegex(self.c.log(), r"sched/ml_quality: version=\S+ slurm=\S+ mode=active interval=1 weight=10000 "
                                       r"horizon=20 timeout_ms=1000 resize=\w+ lead=30 dwell=60 tail=[0-9.]+ url=unix:/\S+/mlqd\.sock")

    def test_reconfigure_takes_new_values(self):
        job = self.ranked_job()
        log = self.new_log("mlq_interval=2,mlq_weight=500,mlq_horizon=90,mlq_timeout=750,mlq_mode=active")
        self.assertIn("mode=active interval=2 weight=500 horizon=90 timeout_ms=750", log)
        wait_until("the new weight is used", lambda: self.c.site(job) == 500)
        wait_until("mlqd is told", lambda: (self.c.cycle()["weight"], self.c.cycle()["horizon"]) == (500, 90))
        first = self.c.wait_cycles(1)["time"]
        second = self.c.wait_cycles(1)["time"]
        self.assertGreaterEqual(second - first, 1.9)
        self.new_log("")
        wait_until("the defaults are back", lambda: self.c.site(job) == 10000)

    def test_off_and_dry_run_take_the_ranking_back(self):
        job = self.ranked_job()
        self.new_log(GOOD + ",mlq_mode=dry-run")
        wait_until("dry-run: nothing is added", lambda: self.c.site(job) == 0)
        self.c.wait_cycles(2)
        self.assertEqual(self.c.site(job), 0)
        self.assertEqual(self.c.status(job)["rank"], 1)
        self.new_log(GOOD + ",mlq_mode=active")
        wait_until("active again", lambda: self.c.site(job) == 10000)
        self.new_log(GOOD + ",mlq_mode=off")
        wait_until("off: nothing is added", lambda: self.c.site(job) == 0)

    def test_wrong_values_and_unknown_keys_are_said_and_the_defaults_used(self):
        log = self.new_log("mlq_interval=0,mlq_weight=many,mlq_horizon=60s,mlq_timeout=5,mlq_mode=on,mlq_wieght=3,"
                           "mlq_weight_=4")
        for line in (r"mlq_interval=0: a whole number from 1 to 3600 is allowed, using 3",
                     r"mlq_weight=many: a whole number from 0 to 1000000 is allowed, using 10000",
                     r"mlq_horizon=60s: a whole number from 1 to 86400 is allowed, using 60",
                     r"mlq_timeout=5: a whole number from 10 to 60000 is allowed, using 1000",
                     r"mlq_mode=on: active, dry-run or off is allowed, using active",
                     r"unknown key mlq_wieght, ignored", r"unknown key mlq_weight_, ignored"):
            self.assertIn("error: sched/ml_quality: SchedulerParameters: " + line, log)
        self.assertIn("mode=active interval=3 weight=10000 horizon=60 timeout_ms=1000", log)
        self.assertIn("is UP", self.c.run("scontrol", "ping"))

    def test_slurmctld_opens_no_port_of_its_own(self):
        self.ranked_job()
        self.c.wait_cycles(2)
        ports, paths = listening(self.c.pid("slurmctld"))
        self.assertEqual(ports, {int(self.c.setting("ctld_port"))})
        self.assertEqual(paths, set())

    def test_slurmctld_ends_when_told_to(self):
        self.ranked_job()
        for _ in range(5):
            pid = self.c.pid("slurmctld")
            self.c.run("scontrol", "shutdown", "slurmctld")
            wait_until("slurmctld has ended", lambda: not self.alive(pid), 15)
            self.c.restart("slurmctld")
        self.assertNotRegex(self.c.log(), "fatal:")

    @staticmethod
    def alive(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
        except OSError:
            return False


if __name__ == "__main__":
    unittest.main()
