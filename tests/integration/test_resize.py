#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Sizes of running jobs on a private Slurm, with an agent that follows the protocol: idle cores are lent, given back at
once when an ordinary job waits, and no companion outlives its job."""
import concurrent.futures
import os
import pathlib
import shutil
import signal
import time
import unittest

from cluster import ClusterTest, wait_until

AGENT = pathlib.Path(__file__).with_name("fake_agent.py")
LEAD = 5
PARAMETERS = f"mlq_interval=1,mlq_horizon=60,mlq_lead={LEAD},mlq_dwell=10"


class ResizeTest(ClusterTest):
    options = ("--nodes", "4", "--cpus", "8", "--parameters", PARAMETERS)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        shutil.copy(AGENT, cls.c.work / "fake_agent.py")

    def setUp(self):
        super().setUp()
        self.c.set_parameters(PARAMETERS)

    def agent(self, base, *options, quality="resize=companion,max=20", sbatch=()):
        script = f"exec /usr/bin/python3 {self.c.work}/fake_agent.py --base {base} " + " ".join(options)
        job = self.c.submit(f"-n{base}", "-N1", f"--ml-quality={quality}", *sbatch, script=script)
        self.c.wait_state(job, "RUNNING")
        return job

    def companions(self, job, states=("RUNNING",)):
        """{id: cores} of the job's companions."""
        found = {}
        for other, text in self.c.jobs("%T|%j|%C").items():
            state, name, cores = text.split("|")
            if name == "companion" and state in states:
                found[other] = int(cores)
        return found

    def cores(self, job, base):
        return base + sum(self.companions(job).values())

    def wait_cores(self, job, base, cores, seconds=45):
        wait_until(f"job {job} holds {cores} cores", lambda: self.cores(job, base) == cores, seconds)

    def heard(self, job):
        """What mlqd has of the job's agent, {} before it spoke."""
        try:
            return self.c.quality(job).get("agent", {})
        except AssertionError:
            return {}

    def target(self, job):
        return self.c.status(job).get("target", {})

    def start_of(self, job):
        """Seconds from the submission to the start."""
        shown = self.c.show(job)
        stamp = lambda name: time.mktime(time.strptime(shown[name], "%Y-%m-%dT%H:%M:%S"))
        return stamp("StartTime") - stamp("SubmitTime")


class Sizes(ResizeTest):
    def test_grows_on_idle_cores_and_then_stays(self):
        job = self.agent(2)
        self.wait_cores(job, 2, 20)
        wait_until("mlqd knows", lambda: self.heard(job).get("units") == 20, 15)
        # steady from here on: nothing is submitted, nothing leaves
        before = self.companions(job, ("PENDING", "RUNNING", "COMPLETED", "CANCELLED"))
        end = time.monotonic() + 30
        while time.monotonic() < end:
            self.assertEqual(self.target(job)["units"], 20)
            time.sleep(1)
        self.assertEqual(self.companions(job, ("PENDING", "RUNNING", "COMPLETED", "CANCELLED")), before)
        self.assertIn("asks for no more", self.c.status(job)["resize"]["reason"])
        # companions are no ML jobs of their own, and are not ranked
        listed = {j["job_id"] for j in self.c.get("/v1/jobs?cluster=mlq")["jobs"]}
        self.assertIn(job, listed)
        self.assertFalse(listed & set(before))

    def test_an_ordinary_job_gets_lent_cores_within_the_lead_time(self):
        job = self.agent(2, quality="resize=companion,max=32")
        self.wait_cores(job, 2, 32)
        plain = self.c.submit("-n12", script="exec sleep 30")
        self.c.wait_state(plain, "RUNNING", LEAD + 30)
        waited = self.start_of(plain)
        print(f"an ordinary job of 12 cores waited {waited:.0f} s, lead time {LEAD} s")
        self.assertLessEqual(waited, LEAD + 5)
        self.assertIn(f"job {plain}", self.c.status(job)["resize"]["change"])
        self.c.run("scancel", plain)
        self.wait_cores(job, 2, 32, 60)  # and has them again later

    def test_a_stubborn_agent_loses_them_all_the_same(self):
        job = self.agent(2, "--stubborn", quality="resize=companion,max=32")
        self.wait_cores(job, 2, 32)
        plain = self.c.submit("-N1", "-n8", "--exclusive", script="exec sleep 30")
        self.c.wait_state(plain, "RUNNING", LEAD + 30)
        self.assertIn(f"job {plain} waits for its CPUs, SIGTERM sent", self.c.log())
        self.assertEqual(self.c.state(job), "RUNNING")

    def test_a_held_job_keeps_nothing(self):
        job = self.agent(2, quality="resize=companion,max=32")
        self.wait_cores(job, 2, 32)
        for options in (("--hold",), ("--begin=now+1hour",), (f"--dependency=afterok:{job}",)):
            self.c.submit("-n12", *options)
        end = time.monotonic() + LEAD + 8
        while time.monotonic() < end:
            self.assertEqual(self.cores(job, 2), 32)
            time.sleep(1)

    def test_a_refusal_is_told_and_holds_growth_back(self):
        job = self.agent(2, "--limit", "2")
        wait_until("the reason is told", lambda: "refused: the limit of the test" in
                   self.c.status(job).get("resize", {}).get("reason", ""), 30)
        self.assertEqual(self.target(job)["units"], 2)

    def test_order_of_ordinary_jobs_is_theirs(self):
        job = self.agent(2, quality="resize=companion,max=32")
        self.wait_cores(job, 2, 32)
        blocker = self.c.submit("-N4", "--exclusive", script="exec sleep 1000", )
        plain = [self.c.submit("-N4", "--exclusive", f"--nice={n}") for n in (300, 100, 200)]
        self.c.wait_cycles(3)
        pending = [j for j in self.c.by_priority() if j in plain]
        self.assertEqual(pending, [plain[1], plain[2], plain[0]])
        self.assertTrue(all(self.c.site(j) == 0 for j in plain))
        # the job itself holds a node: what needs all four can't start, and takes nothing away
        self.assertEqual(self.cores(job, 2), 32)
        self.assertEqual(self.c.state(blocker), "PENDING")


class Switches(ResizeTest):
    def test_off_gives_no_target(self):
        self.c.set_parameters(PARAMETERS + ",mlq_resize=off")
        job = self.agent(2)
        wait_until("the agent is known", lambda: self.heard(job), 30)
        self.c.wait_cycles(4)
        self.assertEqual(self.target(job), {})
        self.assertEqual(self.c.status(job)["resize"]["reason"], "mlq_resize=off")
        self.assertEqual(self.companions(job), {})

    def test_dry_run_says_what_it_would_do(self):
        self.c.set_parameters(PARAMETERS + ",mlq_mode=dry-run")
        job = self.agent(2)
        wait_until("it is said", lambda: f"dry-run: job={job} target=20 held=2" in self.c.log(), 30)
        self.assertEqual(self.target(job), {})
        self.assertEqual(self.companions(job), {})

    def test_switched_off_while_lent(self):
        job = self.agent(2)
        self.wait_cores(job, 2, 20)
        self.c.set_parameters(PARAMETERS + ",mlq_resize_partitions=none")
        self.wait_cores(job, 2, 2, LEAD + 15)
        self.assertEqual(self.c.state(job), "RUNNING")


class Orphans(ResizeTest):
    def gone(self, seconds=30):
        began = time.monotonic()
        wait_until("no companion is left", lambda: not self.companions(0, ("PENDING", "RUNNING")), seconds)
        return time.monotonic() - began

    def test_parent_cancelled(self):
        job = self.agent(2)
        self.wait_cores(job, 2, 20)
        self.c.run("scancel", job)
        print(f"companions of a cancelled job were gone after {self.gone():.1f} s")
        self.assertIn(f"of JobId={job}: job {job} does not run", self.c.log())

    def test_parent_requeued(self):
        job = self.agent(2, sbatch=("--requeue",))
        self.wait_cores(job, 2, 20)
        self.c.run("scontrol", "requeue", job)
        print(f"companions of a requeued job were gone after {self.gone():.1f} s")

    def test_mode_off(self):
        job = self.agent(2)
        self.wait_cores(job, 2, 20)
        self.c.set_parameters(PARAMETERS + ",mlq_mode=off")
        self.c.run("scancel", job)
        self.gone()

    def test_of_a_job_that_never_was(self):
        self.c.submit("--ml-quality=companion=4000000000", "-J", "companion")
        self.c.submit("--ml-quality=companion=4000000000", "-J", "companion", "--hold")
        self.gone()

    def test_companions_of_a_running_job_stay(self):
        plain = self.c.submit("-n1", script="exec sleep 1000")  # no ML job at all, but it runs
        self.c.wait_state(plain, "RUNNING")
        other = self.c.submit(f"--ml-quality=companion={plain}", "-J", "companion")
        self.c.wait_cycles(12)
        self.assertEqual(self.c.state(other), "RUNNING")

    def test_slurmctld_killed_and_started_again(self):
        job = self.agent(2)
        self.wait_cores(job, 2, 20)
        held = self.companions(job)
        self.c.wait_saved()
        self.c.kill("slurmctld")
        self.c.restart("slurmctld")
        self.c.wait_cycles(3)
        self.assertEqual(self.companions(job), held)  # a restart ends nothing
        self.c.run("scancel", job)
        print(f"companions were gone {self.gone():.1f} s after scancel, with a slurmctld started anew")
        job = self.agent(2)
        self.wait_cores(job, 2, 20)
        self.c.wait_saved()
        self.c.kill("slurmctld")
        self.kill_processes(job)
        self.c.restart("slurmctld")
        print(f"companions were gone {self.gone():.1f} s after the start of a slurmctld that was away when the parent died")

    def kill_processes(self, job):
        """Those of one job of this cluster, on all its nodes."""
        killed = 0
        for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                words = path.read_bytes().split(b"\0")
            except OSError:
                continue
            if f"SLURM_JOB_ID={job}".encode() in words and any(str(self.c.dir).encode() in word for word in words):
                os.kill(int(path.parts[2]), signal.SIGKILL)
                killed += 1
        self.assertGreater(killed, 0)


class Accounts(ResizeTest):
    def test_core_seconds_agree_with_sacct(self):
        job = self.agent(2, "--iterations", "300", "--work", "1", sbatch=("--requeue",))
        self.wait_cores(job, 2, 20)
        self.c.wait_state(job, "COMPLETED", 120)
        final = lambda: self.c.sacct(job, "AdminComment")[-1][0]
        wait_until("the last text is there", lambda: '"final":true' in final(), 60)
        rows = self.c.run("sacct", "-X", "-n", "-P", "-S", "now-1days", "-D", "-o",
                          "JobIDRaw,JobName,ElapsedRaw,AllocCPUS,State").splitlines()
        base = companions = count = 0
        for raw, name, elapsed, cpus, _ in (r.split("|") for r in rows):
            if int(raw) == job:
                base += int(elapsed) * int(cpus)
            elif name == "companion" and int(raw) > job:
                companions += int(elapsed) * int(cpus)
                count += int(elapsed) > 0
        usage = self.c.status(job)["usage"]
        print(f"core-seconds by sacct: base {base}, {count} companions {companions}; by the plugin: {usage}")
        self.assertAlmostEqual(usage["base"], base, delta=2)
        self.assertAlmostEqual(usage["companions"], companions, delta=1)
        self.assertEqual(usage["companion_jobs"], count)
        self.assertIn(f'"core_s":{base + companions}'[:10], final())


class Scale(ResizeTest):
    """How long slurmctld's locks are held while a job is resized among 1,000 nodes and 1,000 pending ML jobs."""
    # only the first node has a daemon: what is measured is how the records of all are read
    options = ("--nodes", "1", "--cpus", "8", "--conf", "MaxJobCount=20000", "--conf",
               "NodeName=x[1-999] NodeHostname=localhost Port=[21000-21998] CPUs=8 RealMemory=4000 State=DOWN", "--conf",
               "PartitionName=large Nodes=ALL", "--parameters", PARAMETERS + ",bf_max_job_test=50,default_queue_depth=50")

    def test_locks_are_held_at_most_five_milliseconds(self):
        job = self.agent(2, quality="resize=companion,max=8")
        self.wait_cores(job, 2, 8)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            pending = list(pool.map(lambda n: self.c.submit(f"--ml-quality=family=f{n % 9}", "-N1", "--exclusive", "--nice=100"),
                                    range(1000)))
        self.assertEqual(len(set(pending)), 1000)
        wait_until("all are ranked", lambda: sum(row["SITE"] > 0 for row in self.c.sprio().values()) >= 1000, 90)
        holds = []
        for _ in range(20):
            stats = self.c.wait_cycles(1)["stats"]
            holds.append((stats["read_hold_us"], stats["write_hold_max_us"]))
            self.assertGreaterEqual(stats["pack_ms"], 0)
        print("read hold, longest write hold (us):", holds)
        print("a cycle's parts (ms):", {k: round(v, 3) for k, v in stats.items() if k.endswith("_ms")})
        # the clock also runs while the thread is off the processor: on a busy machine one cycle of twenty may be that
        self.assertLessEqual(sorted(read for read, _ in holds)[-2], 5000)
        self.assertLessEqual(sorted(write for _, write in holds)[-2], 5000)


if __name__ == "__main__":
    unittest.main()
