#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""1,000 pending ML jobs: how long slurmctld's locks are held."""
import concurrent.futures
import unittest

from cluster import ClusterTest, wait_until

JOBS = 1000
HOLD_US = 5000


class Scale(ClusterTest):
    options = ("--nodes", "1", "--cpus", "4", "--conf", "MaxJobCount=20000", "--parameters",
               "mlq_interval=1,mlq_horizon=20,bf_max_job_test=50,default_queue_depth=50")

    def test_locks_are_held_at_most_five_milliseconds(self):
        self.c.submit("-n4", "--exclusive", "--priority=4000000000")

        def submit(n):
            return self.c.train(f"-n{1 + n % 4}", f"--job-name=job{n % 97}", "--exclusive")

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            jobs = list(pool.map(submit, range(JOBS)))
        self.assertEqual(len(set(jobs)), JOBS)
        ranked = lambda: sum(row["SITE"] > 0 for row in self.c.sprio().values())
        wait_until("all are ranked", lambda: ranked() == JOBS, 60)
        # changes for all of them, and back
        holds = []
        for weight in (10000, 5000, 20000, 300):
            self.c.set_parameters(f"mlq_interval=1,mlq_horizon=20,mlq_weight={weight}")
            for _ in range(5):
                stats = self.c.wait_cycles(1)["stats"]
                holds.append((stats["read_hold_us"], stats["write_hold_max_us"], stats["applied"]))
        print("read hold, longest write hold (us), applied:", holds)
        self.assertGreaterEqual(sum(applied for _, _, applied in holds), 2 * JOBS)
        self.assertLessEqual(max(read for read, _, _ in holds), HOLD_US)
        self.assertLessEqual(max(write for _, write, _ in holds), HOLD_US)


if __name__ == "__main__":
    unittest.main()
