#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""mlqd and slurmctld killed or stopped while jobs train: nothing is lost, nothing waits, everything goes on."""
import json
import re
import time
import unittest

from cluster import ClusterTest, wait_until

TIMEOUT_MS = 500


class Failures(ClusterTest):
    options = ("--nodes", "1", "--cpus", "4", "--debug", "debug",
               "--parameters", f"mlq_interval=1,mlq_horizon=20,mlq_timeout={TIMEOUT_MS}")

    def reported(self, job, least):
        wait_until(f"job {job} has reported", lambda: len(self.c.reported(job)) >= least, 40)

    def slowest_answer(self, seconds):
        """The longest time that scontrol took, of calls made for so many seconds."""
        end, slowest = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            before = time.monotonic()
            self.c.run("scontrol", "show", "config")
            self.c.run("squeue", "-h")
            slowest = max(slowest, time.monotonic() - before)
            time.sleep(0.1)
        return slowest

    def comment(self, job):
        return json.loads(self.c.show(job).get("AdminComment") or "{}").get("mlq", {})

    def final(self, job):
        """What sacct tells of an ended job."""
        def row():
            rows = self.c.sacct(job, "State", "AdminComment")
            text = rows[0][1] if rows else ""
            own = json.loads(text).get("mlq", {}) if text else {}
            return (rows[0][0], own) if own.get("final") else None
        return wait_until(f"sacct has the last text of job {job}", row, 60)

    def test_kill_9_of_mlqd_loses_no_report(self):
        jobs = [self.c.train("-n1", iterations=150, interval=0.1, half_life=20) for _ in range(2)]
        for job in jobs:
            self.reported(job, 20)
        self.c.kill("mlqd")
        slowest = self.slowest_answer(4)
        self.assertEqual([self.c.state(j) for j in jobs], ["RUNNING"] * 2)
        self.assertLess(slowest, 2)
        self.c.restart("mlqd")
        for job in jobs:
            self.c.wait_state(job, "COMPLETED")
            self.assertEqual(self.c.reported(job), list(range(150)))
            state, own = self.final(job)
            self.assertEqual((state, own["iter"]), ("COMPLETED", 149))

    def test_jobs_submitted_and_ended_while_mlqd_is_away(self):
        self.c.kill("mlqd")
        try:
            job = self.c.train("-n1", iterations=20, interval=0.05)
            self.c.wait_state(job, "COMPLETED", 40)
        finally:
            self.c.restart("mlqd")
        self.c.wait_cycles(2)
        self.assertEqual(self.c.quality(job)["state"], "COMPLETED")

    def test_kill_9_of_slurmctld_goes_on_where_it_was(self):
        job = self.c.train("-n2", iterations=220, interval=0.1, half_life=20)
        self.reported(job, 60)
        self.c.submit("-n4", "--exclusive", "--priority=4000000000")
        fast = self.c.train("-n2", "--exclusive", quality="family=kill")
        wide = self.c.train("-n4", "--exclusive", quality="family=kill")
        self.c.wait_cycles(3)
        before = {j: self.c.site(j) for j in (fast, wide)}
        self.assertGreater(before[fast], before[wide])
        wait_until("the comment is there", lambda: self.comment(job).get("iter"), 40)
        self.c.wait_saved()
        self.c.kill("slurmctld")
        time.sleep(2)
        self.c.restart("slurmctld")
        self.c.wait_cycles(2)
        status = self.c.status(job)
        self.assertGreater(status["points"], 60)
        self.assertEqual(status["first_loss"], 2.1)
        after = {j: self.c.site(j) for j in (fast, wide)}
        self.assertEqual(after, before)
        self.c.wait_state(job, "COMPLETED")
        self.assertEqual(self.c.reported(job), list(range(220)))
        state, own = self.final(job)
        self.assertEqual((state, own["iter"], own["first"]), ("COMPLETED", 219, 2.1))

    def test_a_hanging_mlqd_holds_nothing_up(self):
        job = self.c.train("-n1", iterations=300, interval=0.1, half_life=40)
        self.reported(job, 20)
        waiting = [self.c.submit("-n4", script="true") for _ in range(3)]
        self.c.wait_cycles(2)
        last = self.c.cycle()["time"]
        self.c.kill("mlqd", "STOP")
        try:
            self.assertLess(self.slowest_answer(6), 1.5)
            new = self.c.submit("-n1", script="true")
            self.c.wait_state(new, "COMPLETED", 20)
        finally:
            self.c.kill("mlqd", "CONT")
        wait_until("cycles reach mlqd again", lambda: self.c.cycle()["time"] > last + 5, 30)
        self.assertEqual(self.c.state(job), "RUNNING")
        self.c.wait_cycles(2)
        # no cycle waited longer than its time-outs: begin to end of each is in the log to the millisecond
        self.assertLessEqual(self.c.cycle()["stats"]["pull_ms"], 2 * TIMEOUT_MS)
        for waits in waiting:
            self.assertIn(self.c.state(waits), ("PENDING", "COMPLETED"))
        self.c.wait_state(job, "COMPLETED")
        self.assertEqual(self.c.reported(job), list(range(300)))

    def test_no_lock_is_held_while_mlqd_hangs(self):
        held = re.compile(r"read_hold_us=(\d+) .*write_hold_max_us=(\d+)")
        self.c.train("-n1", iterations=400, interval=0.1)
        self.c.wait_cycles(2)
        mark = len(self.c.log())
        self.c.kill("mlqd", "STOP")
        try:
            time.sleep(5)
        finally:
            self.c.kill("mlqd", "CONT")
        found = held.findall(self.c.log()[mark:])
        self.assertGreaterEqual(len(found), 2)
        for read, write in found:
            self.assertLess(max(int(read), int(write)), TIMEOUT_MS * 1000 / 10)


if __name__ == "__main__":
    unittest.main()
