#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Running jobs with resize=requeue on a private Slurm: told to save, requeued, sized and started again where they were."""
import re
import shutil
import pathlib
import time
import unittest

from cluster import STAGE, TERMINAL, ClusterTest, wait_until

TRAINER = pathlib.Path(__file__).with_name("saving_trainer.py")
PARAMETERS = "mlq_interval=1,mlq_horizon=60,mlq_dwell=1,mlq_resize=requeue,mlq_requeue_grace=15"


class RequeueTest(ClusterTest):
    options = ("--nodes", "2", "--cpus", "8", "--parameters", PARAMETERS)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        shutil.copy(TRAINER, cls.c.work / "saving_trainer.py")
        # Slurm keeps a requeued job back for as long as its last credential may be in use: two minutes
        conf = cls.c.dir / "etc/slurm.conf"
        conf.write_text(re.sub(r"^(AuthInfo=.*)$", r"\1,cred_expire=5", conf.read_text(), flags=re.M))
        for daemon in ("slurmctld", "n1", "n2"):
            cls.c.restart(daemon)
        wait_until("the nodes are there", lambda: cls.c.run("sinfo", "-h", "-o", "%t").split() == ["idle"], 60)

    def setUp(self):
        super().setUp()
        self.c.set_parameters(PARAMETERS)

    def train(self, *sbatch, agent=False, trainer=(), quality="resize=requeue,min=1,max=8"):
        """Starts on 2 cores, for the others are taken; those are idle when it runs."""
        self.folder = self.c.work / f"t-{time.monotonic_ns()}"
        self.folder.mkdir(mode=0o777)
        filler = [self.c.submit("-N1", "-w", "n1", "-n6"), self.c.submit("-N1", "-w", "n2", "-n8")]
        for job in filler:
            self.c.wait_state(job, "RUNNING")
        command = f"/usr/bin/python3 {self.c.work}/saving_trainer.py {self.folder} " + " ".join(trainer)
        run = f"{STAGE}/bin/mlq run --restart -- " if agent else "exec "
        self.array = self.c.submit("-n2", "-N1", *sbatch, f"--ml-quality={quality}", script=run + command)
        job = wait_until("it runs", lambda: self.running(self.array), 60)
        for other in filler:
            self.c.run("scancel", other)
        self.c.wait_state(filler[0], "CANCELLED")
        return job

    def running(self, job):
        """Its id, of an array that of the task that runs."""
        rows = [r.split() for r in self.c.run("squeue", "-h", "-t", "R", "-o", "%F %A").splitlines()]
        return next((int(r[1]) for r in rows if r[0] == str(job)), None)

    def runs(self):
        """What each run began with: [iteration, cores, tasks, ranks]."""
        path = self.folder / "runs"
        return [[int(n) for n in line.split()] for line in path.read_text().splitlines()] if path.exists() else []

    def signals(self):
        path = self.folder / "signals"
        return path.read_text().split() if path.exists() else []

    def reason(self, job):
        return self.c.status(job).get("resize", {}).get("reason", "")

    def second_run(self, job, seconds=120):
        wait_until("it runs again", lambda: len(self.runs()) == 2, seconds)
        shown = self.c.show(job)
        self.assertEqual((shown["JobState"], shown["Restarts"]), ("RUNNING", "1"))
        return shown

    def goes_on(self, job):
        """The second run goes on from where the first one was, at another size."""
        shown = self.second_run(job)
        (_, two, _, _), (saved, cores, tasks, _) = self.runs()
        self.assertEqual((two, cores, tasks, int(shown["NumCPUs"])), (2, 8, 8, 8))
        self.assertGreater(saved, 10)
        wait_until("it is seen to go on", lambda: "no other size" in self.reason(job) or "asks for no more" in self.reason(job), 60)
        return shown


class Requeue(RequeueTest):
    def test_grows_by_a_requeue_of_a_batch_script(self):
        job = self.train()
        wait_until("it is announced", lambda: "will be told to save in a moment" in self.reason(job), 90)
        self.assertIn("8 units, before 2", " ".join(self.c.run("mlq", "explain", job).split()))
        self.goes_on(job)
        self.assertEqual(self.signals(), ["SIGTERM"])
        log = self.c.log()
        self.assertIn(f"JobId={job} told to save: to go on with 8 units", log)
        self.assertIn(f"JobId={job} requeued: it has saved and ended, to go on with 8 units", log)
        self.assertIn(f"JobId={job} asks for 8 tasks on 8 CPUs now, before 2 on 2", log)
        self.assertNotIn("error: ", "\n".join(l for l in log.splitlines() if "ml_quality" in l))

    def test_with_an_agent_and_its_report(self):
        job = self.train(agent=True)
        self.goes_on(job)
        self.assertEqual([run[3] for run in self.runs()], [2, 8])
        self.assertEqual(self.signals(), ["SIGTERM"])
        log = self.c.log()
        self.assertIn(f"JobId={job} requeued: it has saved, to go on with 8 units", log)
        self.assertNotIn(f"JobId={job} told to save", log)  # over mlqd, not by a signal of Slurm

    def test_the_signal_that_the_job_asks_for(self):
        job = self.train("--signal=B:USR1@60")
        self.goes_on(job)
        self.assertEqual(self.signals(), ["SIGUSR1"])

    def test_the_grace_ends(self):
        job = self.train(trainer=("--deaf",))
        self.second_run(job)
        told, requeued = (re.search(rf"\[(\S+)\] sched/ml_quality: JobId={job} {what}", self.c.log())[1]
                          for what in ("told to save", "requeued: mlq_requeue_grace is over"))
        seconds = lambda stamp: time.mktime(time.strptime(stamp.split(".")[0], "%Y-%m-%dT%H:%M:%S"))
        self.assertIn(seconds(requeued) - seconds(told), range(14, 20))

    def test_who_falls_back_is_not_requeued_again(self):
        job = self.train(trainer=("--forgetful",))
        self.second_run(job)
        self.assertEqual(self.runs()[1][0], 0)
        wait_until("it is said", lambda: "it is not requeued again: it went on from iteration 0, though iteration" in self.reason(job), 60)
        wait_until("AdminComment keeps it", lambda: re.search(r'"requeue":\{"n":1,"iter":\d+,"back":0\}',
                                                              self.c.show(job)["AdminComment"]), 20)
        self.c.run("scontrol", "update", f"JobId={job}", "Comment=changed")
        self.c.wait_saved()
        self.c.kill("slurmctld")
        self.c.restart("slurmctld")
        self.c.wait_cycles(3)
        wait_until("it is known after a restart", lambda: "it is not requeued again" in self.reason(job), 60)

    def test_those_that_slurm_may_not_requeue_are_left_alone(self):
        job = self.train("--no-requeue")
        wait_until("it is said", lambda: "Slurm may not requeue it (Requeue=0)" in self.reason(job), 60)
        self.c.wait_cycles(15)
        self.assertEqual((self.runs()[1:], self.signals(), self.c.state(job)), ([], [], "RUNNING"))

    def test_no_requeue_while_another_job_waits(self):
        job = self.train()
        other = self.c.submit("-n16")
        wait_until("it is said", lambda: f"job {other} waits and would start in its place" in self.reason(job), 60)
        self.c.wait_cycles(10)
        self.assertEqual((self.signals(), self.c.state(job)), ([], "RUNNING"))

    def test_dry_run_and_switch(self):
        for parameters, text in (("mlq_mode=dry-run", "8 would pay for a restart; not done: mlq_mode=dry-run"),
                                 ("mlq_resize=companion", "mlq_resize=companion: the site requeues no job for its size")):
            self.c.set_parameters(f"{parameters},{PARAMETERS}".replace("mlq_resize=requeue,", "" if "resize" in parameters else "mlq_resize=requeue,"))
            job = self.train()
            wait_until("it is said", lambda: text in self.reason(job), 90)
            if "dry-run" in parameters:
                self.assertRegex(self.c.log(), rf"dry-run: job={job} target=8 held=2")
            self.c.wait_cycles(12)
            self.assertEqual((self.signals(), self.c.state(job)), ([], "RUNNING"))
            self.c.cancel_all()

    def test_cancelled_while_it_saves(self):
        job = self.train(trainer=("--deaf",))
        wait_until("it was told", self.signals, 90)
        self.c.run("scancel", job)
        self.c.wait_state(job, TERMINAL)
        self.c.wait_cycles(20)
        self.assertEqual((self.c.state(job), len(self.runs())), ("CANCELLED", 1))

    def test_slurmctld_is_killed_between_the_steps(self):
        # while it saves, when it has saved and ended, and when it was requeued
        job = self.train(trainer=("--deaf",))
        wait_until("it was told", self.signals, 90)
        self.c.kill("slurmctld")
        self.c.restart("slurmctld")
        self.second_run(job)
        self.c.cancel_all()
        job = self.train()
        wait_until("it was told", self.signals, 90)
        self.c.kill("slurmctld")
        time.sleep(3)
        self.c.restart("slurmctld")
        self.second_run(job)
        self.c.cancel_all()
        job = self.train()
        wait_until("it was requeued", lambda: self.c.show(job)["Restarts"] == "1", 90)
        self.c.kill("slurmctld")
        self.c.restart("slurmctld")
        self.second_run(job)

    def test_a_task_of_an_array(self):
        """Only the task that ran: not those that wait, which one record stands for."""
        task = self.train("--array=0-3%1")
        self.c.run("scontrol", "hold", f"{self.array}_[1-3]")  # else the next one would start in its place
        self.assertEqual(self.c.run("squeue", "-h", "-t", "PD", "-o", "%C %r").splitlines(), ["2 JobHeldAdmin"])
        wait_until("it is announced", lambda: "8 units, before 2" in self.reason(task), 90)
        self.goes_on(task)
        self.assertEqual(self.c.run("squeue", "-h", "-t", "PD", "-o", "%C %r").splitlines(), ["2 JobHeldAdmin"])
        log = self.c.log()
        self.assertIn(f"JobId={task} asks for 8 tasks on 8 CPUs now, before 2 on 2", log)
        self.assertEqual(log.count(" tasks on "), log.count(f"JobId={task} asks for "))

    def test_report_sums_all_runs(self):
        job = self.train(agent=True)
        self.goes_on(job)
        self.c.run("scancel", job)
        rows = lambda: [r.split("|") for r in self.c.run("sacct", "-X", "-n", "-P", "-D", "-S", "now-1days", "-j", job, "-o",
                                                         "ElapsedRaw,AllocCPUS,State,End").splitlines()]
        wait_until("accounting has the end", lambda: all(r[3] != "Unknown" for r in rows()), 60)
        wait_until("the last text is there", lambda: '"final":true' in self.c.show(job)["AdminComment"], 60)
        self.c.wait_cycles(2)
        sums = [int(r[0]) * int(r[1]) for r in rows()]
        self.assertEqual([int(r[1]) for r in rows()], [2, 8])
        report = dict(line.split("|")[:2] for line in self.c.run("mlq", "report", "-P", job).splitlines())
        print(f"    core-seconds by sacct: {sums}; by mlq report: {report}", flush=True)
        self.assertAlmostEqual(float(report["earlier"]), sums[0], delta=2)
        self.assertAlmostEqual(float(report["base"]), sums[1], delta=8)
        self.assertAlmostEqual(float(report["total"]), sum(sums), delta=10)


if __name__ == "__main__":
    unittest.main()
