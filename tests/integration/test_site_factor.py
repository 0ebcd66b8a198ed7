#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""site_factor/ml_quality under stock sched/backfill: the same ranks, heterogeneous jobs, and an end that never hangs."""
import os
import pathlib
import threading
import time
import unittest

from cluster import ClusterTest, wait_until

GOOD = "mlq_interval=1,mlq_horizon=20"
# MLQ_SHUTDOWNS=100 for the long version
SHUTDOWNS = int(os.environ.get("MLQ_SHUTDOWNS", "20"))


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class SiteFactor(ClusterTest):
    options = ("--nodes", "2", "--cpus", "4", "--scheduler", "backfill", "--site-factor", "ml_quality", "--parameters",
               GOOD, "--conf", "PartitionName=second Nodes=n[1-2] PriorityJobFactor=3")

    def setUp(self):
        super().setUp()
        self.addCleanup(self.c.set_parameters, GOOD)

    def fill(self):
        """Jobs on every core, so that what follows stays pending."""
        return self.c.submit("-N2", "--exclusive", "--priority=4000000000")

    def ranked_job(self, *options):
        job = self.c.train("-n1", *options, quality="family=site")
        wait_until("the job is ranked", lambda: self.c.site(job) == 10000)
        return job

    def test_better_curves_come_first_and_sprio_says_why(self):
        runs = {family: self.c.train("-n1", quality=f"family={family}", iterations=60, interval=0.05, half_life=life)
                for family, life in (("steep", 15.0), ("flat", 4000.0))}
        for job in runs.values():
            self.c.wait_state(job, "COMPLETED", 90)
        self.c.wait_cycles(2)
        self.fill()
        ordinary = self.c.submit("-n1")
        flat, steep = (self.c.train("-n1", quality=f"family={f}") for f in ("flat", "steep"))
        wait_until("the steep curve has the whole weight", lambda: self.c.site(steep) == 10000)
        rows = self.c.sprio()
        self.assertLess(rows[flat]["SITE"], 10000)
        self.assertEqual(rows[ordinary]["SITE"], 0)
        self.assertEqual(self.c.by_priority()[0], steep)
        for job in (flat, steep, ordinary):  # sprio adds up rounded terms
            row = self.c.sprio()[job]
            terms = row["SITE"] + row["AGE"] + row["FAIRSHARE"] + row["QOS"] - row["NICE"]
            self.assertAlmostEqual(row["PRIORITY"], terms, delta=5)

    def test_heterogeneous_jobs_are_accepted_and_run(self):
        job = int(self.c.run("sbatch", "--parsable", "-o", "/dev/null", "-n1", "--ml-quality=family=het", ":", "-n2",
                             "--wrap", "srun --het-group=0,1 true").split(";")[0])
        self.c.wait_state(job, "COMPLETED", 60)
        self.fill()
        waiting = int(self.c.run("sbatch", "--parsable", "-o", "/dev/null", "-n1", "--ml-quality=family=het", ":", "-n2",
                                 "--wrap", "true").split(";")[0])
        self.ranked_job()
        self.assertEqual(self.c.site(waiting), 0)  # its parts are not ranked

    def test_a_job_in_two_partitions_is_ranked_in_both(self):
        self.fill()
        before = self.c.train("-n1", "-p", "main,second", quality="off")
        job = self.ranked_job("-p", "main,second")
        rows = self.c.run("squeue", "-h", "-P", "-t", "PD", "-o", "%A %P %Q").split("\n")
        priority = {tuple(r.split()[:2]): int(r.split()[2]) for r in rows if r}
        for partition in ("main", "second"):
            moved = priority[str(job), partition] - priority[str(before), partition]
            self.assertAlmostEqual(moved, 10000, delta=5)

    def test_reconfigure_takes_new_values_and_off_takes_all_back(self):
        self.fill()
        job = self.ranked_job()
        self.c.set_parameters(GOOD + ",mlq_weight=500")
        wait_until("the new weight is used", lambda: self.c.site(job) == 500)
        self.c.set_parameters(GOOD + ",mlq_mode=dry-run")
        wait_until("dry-run: nothing is added", lambda: self.c.site(job) == 0)
        self.c.set_parameters(GOOD)
        wait_until("active again", lambda: self.c.site(job) == 10000)
        with_site = self.c.sprio()[job]["PRIORITY"]
        self.c.set_parameters(GOOD + ",mlq_mode=off")
        wait_until("off: nothing is added", lambda: self.c.site(job) == 0)
        self.assertAlmostEqual(self.c.sprio()[job]["PRIORITY"], with_site - 10000, delta=5)
        self.assertIn("site_factor/ml_quality: version=", self.c.log())

    def test_pending_jobs_are_sized(self):
        self.c.wait_state(self.c.submit("-n5", "--priority=4000000000"), "RUNNING")
        job = self.c.submit("-n8", "--ml-quality=min=2,max=8,resize=companion")
        self.c.wait_state(job, "RUNNING")
        self.assertEqual(self.c.show(job)["NumCPUs"], "3")
        self.assertIn(f"site_factor/ml_quality: JobId={job} asks for 3 tasks on 3 CPUs now, before 8 on 8", self.c.log())

    def test_shutdown_under_load_never_hangs(self):
        self.fill()
        stop = threading.Event()

        def load():
            """Priorities are computed all the time: jobs come, go, and change."""
            while not stop.is_set():
                for _ in range(5):
                    done = self.c.try_run("sbatch", "--parsable", "-n1", "-o", "/dev/null", "--ml-quality", "--wrap", "true")
                    job = done.stdout.split(";")[0].strip()
                    if not done.returncode:
                        self.c.try_run("scontrol", "update", f"jobid={job}", "nice=5")
                        self.c.try_run("scancel", job)
                time.sleep(0.05)

        for n in range(30):  # some of them asking for more than there is: they are sized as well
            self.c.train(f"-n{1 + n % 3 * 3}", quality="family=load,min=1,max=7,resize=companion")
        threads = [threading.Thread(target=load) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for n in range(SHUTDOWNS):
                # now and then in the middle of a cycle
                self.c.set_parameters(GOOD + f",mlq_weight={9000 + n}")
                time.sleep(0.1 * (n % 7))
                pid = self.c.pid("slurmctld")
                began = time.monotonic()
                self.c.run("scontrol", "shutdown", "slurmctld")
                wait_until(f"slurmctld has ended, time {n + 1}", lambda p=pid: not alive(p), 30, 0.05)
                if os.environ.get("MLQ_SHUTDOWNS"):
                    print(f"shutdown {n + 1}: {time.monotonic() - began:.2f} s", flush=True)
                self.c.restart("slurmctld")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        log = self.c.log()
        self.assertNotRegex(log, r"fatal:|left to itself|did not end")
        self.assertGreaterEqual(log.count("site_factor/ml_quality: version="), SHUTDOWNS)


class Both(ClusterTest):
    options = ("--nodes", "1", "--cpus", "4", "--scheduler", "ml_quality", "--site-factor", "ml_quality", "--parameters",
               GOOD)

    def test_only_the_scheduler_plugin_acts_and_the_log_says_so(self):
        self.c.submit("-n4", "--exclusive", "--priority=4000000000")
        job = self.c.train("-n1", quality="family=both")
        wait_until("the job is ranked", lambda: self.c.site(job) == 10000)
        log = self.c.log()
        self.assertIn("site_factor/ml_quality: SchedulerType is sched/ml_quality, which ranks the jobs: this plugin does "
                      "nothing", log)
        self.assertIn(" sched/ml_quality: version=", log)
        self.assertNotIn("site_factor/ml_quality: version=", log)


if __name__ == "__main__":
    unittest.main()
