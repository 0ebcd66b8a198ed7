#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Pending jobs with a range are sized to what is idle; others keep what they ask for."""
import unittest

from cluster import ClusterTest, wait_until

GOOD = "mlq_interval=1,mlq_horizon=20"
WHAT_IT_HAS = ('echo "$SLURM_NTASKS $SLURM_NPROCS $SLURM_JOB_NUM_NODES $(srun hostname | wc -l)" > {work}/has-$SLURM_JOB_ID\n'
               "exec sleep 1000")


class Sizing(ClusterTest):
    options = ("--nodes", "2", "--cpus", "8", "--parameters", GOOD)

    def setUp(self):
        super().setUp()
        self.addCleanup(self.c.set_parameters, GOOD)

    def occupy(self, cpus):
        """Ordinary jobs on so many of the 16 cores."""
        for _ in range(cpus // 2):
            self.c.wait_state(self.c.submit("-n1", "-c2"), "RUNNING")

    def ask(self, *options, quality, script=None):
        script = script or WHAT_IT_HAS.format(work=self.c.work)
        return self.c.submit(*options, "--ml-quality=" + quality, script=script)

    def why(self, job):
        return self.c.status(job).get("reason", "")

    def wait_why(self, job, text):
        wait_until(f"job {job}: {text}", lambda: text in self.why(job))

    def has(self, job):
        path = self.c.work / f"has-{job}"
        wait_until("the script has written what it has", lambda: path.exists() and path.read_text().strip(), 60)
        return path.read_text().split()

    def trained(self, job):
        """The job is over, and slurmdbd knows."""
        self.c.run("scancel", job)
        wait_until("accounting has the end", lambda: self.c.sacct(job, "End")[0][0] != "Unknown", 60)

    def test_a_job_starts_on_what_is_idle(self):
        self.occupy(10)
        job = self.ask("-n16", quality="min=2,max=16,resize=companion")
        self.c.wait_state(job, "RUNNING")
        shown = self.c.show(job)
        self.assertEqual((shown["NumCPUs"], shown["NumTasks"]), ("6", "6"))
        self.assertEqual(self.c.tres(job)["cpu"], "6")
        self.assertEqual(self.has(job), ["6", "6", shown["NumNodes"], "6"])
        self.assertIn(f"sched/ml_quality: JobId={job} asks for 6 tasks on 6 CPUs now, before 16 on 16: 6 cores of 2 to "
                      "16: that many can start now", self.c.log())
        self.trained(job)
        ((alloc, asked, got, state),) = self.c.sacct(job, "AllocCPUS", "ReqTRES", "AllocTRES", "State")
        self.assertEqual(alloc, "6")
        self.assertIn("cpu=6", asked.split(","))
        self.assertIn("cpu=6", got.split(","))
        self.assertTrue(state.startswith("CANCELLED"), state)

    def test_the_size_outlives_a_restart_of_slurmctld(self):
        self.occupy(12)
        job = self.ask("-n16", quality="min=2,max=16,resize=companion")
        self.c.wait_state(job, "RUNNING")
        self.assertEqual(self.has(job)[0], "4")  # a slurmctld that stops before may not have told the node to start it
        self.c.restart("slurmctld")
        self.c.wait_cycles(2)
        shown = self.c.show(job)
        self.assertEqual((shown["JobState"], shown["NumCPUs"], shown["NumTasks"]), ("RUNNING", "4", "4"))
        self.assertNotRegex(self.c.log(), r"fatal:|cons_tres.*(error|underflow)|inconsist")

    def test_never_below_the_minimum(self):
        self.occupy(14)
        job = self.ask("-n16", quality="min=4,max=16,resize=companion")
        self.wait_why(job, "not even its least has room")
        self.c.wait_cycles(3)
        shown = self.c.show(job)
        self.assertEqual((shown["JobState"], shown["NumTasks"]), ("PENDING", "16"))

    def test_a_request_outside_the_range_is_brought_into_it(self):
        self.occupy(16)
        job = self.ask("-n2", quality="min=4,max=6,resize=companion")
        wait_until("it asks for the minimum", lambda: self.c.show(job)["NumTasks"] == "4")
        self.assertEqual(self.c.show(job)["NumCPUs"], "4")

    def test_units_of_several_cores_and_threads(self):
        self.occupy(6)
        job = self.ask("-n4", "-c4", quality="min=1,max=4,unit=4,resize=companion")
        self.c.wait_state(job, "RUNNING")
        shown = self.c.show(job)
        self.assertEqual((shown["NumCPUs"], shown["NumTasks"], shown["CPUs/Task"]), ("8", "2", "4"))
        self.assertEqual(self.has(job)[0], "2")

    def test_whole_nodes(self):
        self.occupy(2)
        job = self.ask("-N2", "--ntasks-per-node=4", "--exclusive", quality="unit=node,min=1,max=2,resize=companion")
        self.c.wait_state(job, "RUNNING")
        shown = self.c.show(job)
        self.assertEqual((shown["NumNodes"], shown["NumCPUs"], shown["NumTasks"]), ("1", "8", "4"))
        self.assertEqual(self.has(job)[0], "4")

    def test_two_jobs_share_what_is_idle(self):
        blocker = self.c.submit("-n16")
        self.c.wait_state(blocker, "RUNNING")
        jobs = [self.ask("-n16", quality="min=2,max=16,resize=companion") for _ in range(2)]
        self.c.submit("-n1", "-c4", "--priority=4000000000")
        self.c.wait_cycles(2)
        self.c.run("scancel", blocker)
        for job in jobs:
            self.c.wait_state(job, "RUNNING")
        self.assertLessEqual(sum(int(self.c.show(j)["NumCPUs"]) for j in jobs), 12)
        self.assertGreaterEqual(min(int(self.c.show(j)["NumCPUs"]) for j in jobs), 2)

    def test_who_cannot_grow_later_waits_for_what_it_asks_for(self):
        self.occupy(10)
        job = self.ask("-n16", quality="min=2,max=16")
        self.wait_why(job, "waiting for them is worth more than the 6 that could start now")
        self.assertEqual(self.c.show(job)["NumTasks"], "16")

    def test_requests_that_cannot_be_sized_stay_and_say_why(self):
        self.occupy(16)
        reasons = {
            ("-n4", "--ntasks-per-node=2"): "--ntasks-per-node says how many tasks a node has",
            ("-n16", "--exclusive"): "it takes nodes whole: only unit=node counts those",
            ("-n16", "--mem=100"): "it asks for memory by node (--mem) and for no certain number of nodes",
            ("-n16", "--array=1-2"): "it is a job array, or a task of one that has not run",
            ("-n16", "-w", "n1,n2"): "it names nodes (--nodelist)",
            ("-n4", "-c4"): "its unit of 1 CPUs is no multiple of --cpus-per-task=4",
        }
        jobs = {self.ask(*options, quality="min=1,max=2,resize=companion"): (options, text)
                for options, text in reasons.items()}
        before = {job: self.c.run("squeue", "-h", "-j", job, "-o", "%C %D %m") for job in jobs}
        for job, (options, text) in jobs.items():
            with self.subTest(options=options):
                self.wait_why(job, "not chosen: " + text)
                self.assertIn("not chosen: " + text, " ".join(self.c.run("mlq", "explain", job).split()))
        self.c.wait_cycles(2)
        after = {job: self.c.run("squeue", "-h", "-j", job, "-o", "%C %D %m") for job in jobs}
        self.assertEqual(after, before)

    def test_ordinary_jobs_and_those_without_a_range_are_left_alone(self):
        self.occupy(10)
        jobs = [self.c.submit("-n16"), self.c.submit("-n12", "--ml-quality"), self.c.submit("-n14", "--ml-quality=off")]
        mark = len(self.c.log())
        self.c.wait_cycles(3)
        self.assertEqual([self.c.show(j)["NumTasks"] for j in jobs], ["16", "12", "14"])
        self.assertNotIn("asks for", self.c.log()[mark:])

    def test_switches(self):
        self.occupy(10)
        for switch, text in (("mlq_sizing=off", "not chosen: mlq_sizing=off"),
                             ("mlq_resize=off", "not chosen: mlq_resize=off"),
                             ("mlq_mode=dry-run", "not applied: mlq_mode=dry-run")):
            self.c.set_parameters(f"{GOOD},{switch}")
            job = self.ask("-n16", quality="min=2,max=16,resize=companion")
            self.wait_why(job, text)
            self.c.wait_cycles(2)
            self.assertEqual(self.c.show(job)["NumTasks"], "16", switch)
            self.c.run("scancel", job)
        self.c.set_parameters(GOOD + ",mlq_sizing=maybe")
        wait_until("the wrong value is said", lambda: "mlq_sizing=maybe: on or off is allowed, using on" in self.c.log())


class Limits(ClusterTest):
    """Of jobs of a user who is no operator: those have none."""
    options = ("--nodes", "2", "--cpus", "8", "--parameters", GOOD, "--conf",
               "AccountingStorageEnforce=associations,limits,qos")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.c.run("sacctmgr", "-i", "add", "user", "nobody", "account=root")

    def start(self, limit, tasks, quality):
        self.c.run("sacctmgr", "-i", "modify", "qos", "normal", "set", limit + "=cpu=7")
        self.addCleanup(self.c.run, "sacctmgr", "-i", "modify", "qos", "normal", "set", limit + "=cpu=-1")
        return self.c.submit(f"-n{tasks}", "--uid=65534", "--gid=65534", "--ml-quality=" + quality)

    def test_a_size_below_the_least_is_taken_back(self):
        blocker = self.c.submit("-n10")
        self.c.wait_state(blocker, "RUNNING")
        job = self.start("MinTRESPerJob", 16, "min=2,max=16,resize=companion")
        taken_back = f"JobId={job} asks for 16 tasks on 16 CPUs now, before 6 on 6: 16 cores of 2 to 16: with the 6 before it waits for"
        wait_until("it is taken back", lambda: taken_back + " QOSMinCpuNotSatisfied" in self.c.log(), 90)
        self.assertIn(f"JobId={job} asks for 6 tasks on 6 CPUs now, before 16 on 16", self.c.log())
        wait_until("it is told", lambda: "; with fewer it waited for QOSMin" in self.c.status(job).get("reason", ""), 90)
        self.c.run("scancel", blocker)
        self.c.wait_state(job, "RUNNING", 90)
        self.assertGreaterEqual(int(self.c.show(job)["NumCPUs"]), 7)

    def test_what_can_never_start_is_halved(self):
        job = self.start("MaxTRESPerJob", 8, "min=2,max=16,resize=companion")
        self.c.wait_state(job, "RUNNING", 150)
        self.assertIn(f"JobId={job} asks for 4 tasks on 4 CPUs now, before 8 on 8: 4 cores of 2 to 16: with the 8 before it waits "
                      "for QOSMaxCpuPerJobLimit", self.c.log())
        self.assertEqual(self.c.show(job)["NumCPUs"], "4")


if __name__ == "__main__":
    unittest.main()
