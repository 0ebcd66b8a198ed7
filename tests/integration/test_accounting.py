#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""AdminComment tells in sacct what a job's cores bought, beside what the site keeps there."""
import json
import unittest

from cluster import ClusterTest, wait_until


class Accounting(ClusterTest):
    options = ("--nodes", "1", "--cpus", "4", "--parameters", "mlq_interval=1,mlq_horizon=10")

    def text(self, job):
        rows = self.c.sacct(job, "AdminComment")
        return rows[0][0] if rows else ""

    def final(self, job):
        def found():
            text = self.text(job)
            return text if text and json.loads(text).get("mlq", {}).get("final") else None
        return wait_until(f"sacct has the last text of job {job}", found, 60)

    def test_the_text_equals_the_last_report(self):
        job = self.c.train("-n2", iterations=120, interval=0.1, half_life=10)
        self.c.wait_state(job, "COMPLETED")
        own = json.loads(self.final(job))["mlq"]
        self.assertEqual((own["v"], own["iter"], own["first"]), (1, 119, 2.1))
        self.assertAlmostEqual(own["loss"], 0.1 + 2 * 0.5 ** 11.9, places=5)
        self.assertEqual(own["best"], own["loss"])
        self.assertGreater(own["fraction"], 0.99)
        self.assertLessEqual(own["fraction"], 1)
        shown = self.c.sacct(job, "ElapsedRaw", "AllocCPUS")[0]
        self.assertAlmostEqual(own["core_s"], int(shown[0]) * int(shown[1]), delta=2 * 1.5)
        self.assertGreater(own["gain_pred"], 0)
        self.assertGreater(own["gain_real"], 0)
        self.assertLessEqual(own["gain_real"], 1)

    def test_the_text_is_one_short_line_that_grows_during_the_run(self):
        job = self.c.train("-n1", iterations=400, interval=0.1, half_life=40)
        comment = lambda: self.c.show(job).get("AdminComment", "")
        first = wait_until("a comment during the run", lambda: '"iter":' in comment() and comment(), 40)
        own = json.loads(first)["mlq"]
        self.assertNotIn("final", own)
        self.assertEqual(self.c.state(job), "RUNNING")
        wait_until("a newer one", lambda: self.c.show(job).get("AdminComment") != first, 30)
        newer = json.loads(self.c.show(job)["AdminComment"])["mlq"]
        self.assertGreater(newer["iter"], own["iter"])
        self.assertLessEqual(len(first), 1024)
        self.assertNotIn("\n", first)

    def test_a_cancelled_job_has_its_last_report(self):
        job = self.c.train("-n1", iterations=1000, interval=0.1, half_life=40)
        wait_until("it has reported", lambda: len(self.c.reported(job)) > 30, 40)
        self.c.run("scancel", job)
        self.c.wait_state(job, "CANCELLED")
        own = json.loads(self.final(job))["mlq"]
        last = self.c.quality(job, 1)["points"][-1]
        self.assertEqual(own["iter"], last[0])
        self.assertAlmostEqual(own["loss"], last[1], places=5)

    def test_a_sites_text_is_kept(self):
        plain = self.c.train("-n1", iterations=60, interval=0.1)
        members = self.c.train("-n1", iterations=60, interval=0.1)
        self.c.run("scontrol", "update", f"JobId={plain}", "AdminComment=ticket 4711, do not kill")
        self.c.run("scontrol", "update", f"JobId={members}", 'AdminComment={"project":"x","cost":1.50}')
        for job in (plain, members):
            self.c.wait_state(job, "COMPLETED")
        got = json.loads(self.final(plain))
        self.assertEqual((got["site"], got["mlq"]["iter"]), ("ticket 4711, do not kill", 59))
        text = self.final(members)
        self.assertTrue(text.startswith('{"project":"x","cost":1.50,'), text)
        self.assertEqual(json.loads(text)["mlq"]["iter"], 59)

    def test_a_sites_text_that_comes_later_is_kept(self):
        job = self.c.train("-n1", iterations=350, interval=0.1)
        wait_until("a comment during the run", lambda: self.c.show(job).get("AdminComment"), 40)
        self.c.run("scontrol", "update", f"JobId={job}", "AdminComment=seen by an operator")
        self.c.wait_state(job, "COMPLETED")
        got = json.loads(self.final(job))
        self.assertEqual((got["site"], got["mlq"]["iter"]), ("seen by an operator", 349))

    def test_comment_and_system_comment_and_other_jobs_are_left_alone(self):
        job = self.c.train("-n1", "--comment=mine", iterations=30, interval=0.1)
        other = self.c.submit("-n1", "--comment=too", script="true")
        for j in (job, other):
            self.c.wait_state(j, "COMPLETED")
        self.final(job)
        self.assertEqual(self.c.show(job)["Comment"], "mine")
        self.assertEqual(self.c.sacct(job, "SystemComment")[0][0], "")
        self.assertEqual(self.text(other), "")

    def test_a_job_that_never_reported_says_so(self):
        job = self.c.submit("-n1", "--ml-quality", script="sleep 3")
        self.c.wait_state(job, "COMPLETED")
        own = json.loads(self.final(job))["mlq"]
        self.assertEqual(own["verdict"], "no_data")
        self.assertNotIn("loss", own)


if __name__ == "__main__":
    unittest.main()
