#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Heterogeneous jobs under stock sched/backfill: with resize=requeue requeued as a whole and sized component by component, with
mlq run the ranks of the first component."""
import re
import time
import unittest

from agent_case import PACKAGE, PYTHON, WORKER, AgentCase
from cluster import STAGE, TERMINAL, wait_until
from test_requeue import PARAMETERS, RequeueTest

RANGE = "--ml-quality=resize=requeue,min=1,max=8"


class Het(RequeueTest):
    options = ("--nodes", "2", "--cpus", "8", "--scheduler", "backfill", "--site-factor", "ml_quality", "--parameters",
               PARAMETERS)

    def train_both(self, first=RANGE, second=None, trainer=(), run="exec"):
        """Two components of two cores, one a node; the other cores are idle when they run."""
        self.folder = self.c.work / f"t-{time.monotonic_ns()}"
        self.folder.mkdir(mode=0o777)
        filler = [self.c.submit("-N1", "-w", node, "-n6") for node in ("n1", "n2")]
        for job in filler:
            self.c.wait_state(job, "RUNNING")
        command = f"{run} /usr/bin/python3 {self.c.work}/saving_trainer.py {self.folder} " + " ".join(trainer)
        note = f'echo "$SLURM_NTASKS_HET_GROUP_0 $SLURM_NTASKS_HET_GROUP_1" >> {self.folder}/tasks\n'
        job = self.c.submit("-n2", "-N1", first, ":", "-n2", "-N1", *([second] if second else []), script=note + command)
        self.ids = [job, job + 1]
        for one in self.ids:
            self.c.wait_state(one, "RUNNING", 90)
        for other in filler:
            self.c.run("scancel", other)
        self.c.wait_state(filler[0], "CANCELLED")
        return job

    def component(self, offset):
        return self.c.show(f"{self.ids[0]}+{offset}")

    def run_again(self, cpus, tasks=None):
        """Both components run for the second time, on so many CPUs, and nothing of them was ever held."""
        tasks = tasks or cpus
        wait_until("it runs again", lambda: len(self.runs()) == 2, 120)
        for offset in (0, 1):
            shown = self.component(offset)
            self.assertEqual((shown["JobState"], shown["Restarts"], shown["NumCPUs"], shown["NumTasks"]),
                             ("RUNNING", "1", str(cpus[offset]), str(cpus[offset])), f"component {offset}")
        self.assertEqual((self.folder / "tasks").read_text().splitlines(), ["2 2", f"{tasks[0]} {tasks[1]}"])

    def seen_to_go_on(self, job):
        (_, two, _, _), (saved, cores, _, _) = self.runs()
        self.assertGreater(saved, 10)
        wait_until("it is seen to go on", lambda: "no other size" in self.reason(job) or "asks for no more" in self.reason(job), 60)
        return two, cores

    def test_the_component_with_a_range_grows_and_the_other_stays(self):
        job = self.train_both()
        wait_until("it is announced", lambda: "8 units, before 2" in self.reason(job), 90)
        self.run_again((8, 2))
        self.assertEqual(self.seen_to_go_on(job), (2, 8))
        self.assertEqual(self.signals(), ["SIGTERM"])
        log = self.c.log()
        self.assertIn(f"JobId={job} requeued: it has saved and ended, to go on with 8 units", log)
        self.assertIn(f"JobId={job} asks for 8 tasks on 8 CPUs now, before 2 on 2", log)
        self.assertNotIn(f"JobId={self.ids[1]} asks for", log)
        self.assertLessEqual(log.count(f"JobId={job} has become eligible: backfill is to look"), 1)
        self.assertNotRegex(log, r"site_factor/ml_quality: error|Bad het_job_list|fatal:")
        wait_until("AdminComment says so", lambda: '"requeue":{"n":1,"iter":' in self.component(0).get("AdminComment", ""), 20)
        self.assertNotIn("mlq", self.component(1).get("AdminComment", ""))  # the option is the first one's alone
        self.c.run("scancel", job)
        rows = lambda: [r.split("|") for r in self.c.run("sacct", "-X", "-n", "-P", "-D", "-S", "now-1days", "-j", job, "-o",
                                                         "JobIDRaw,AllocCPUS,State,End").splitlines()]
        wait_until("accounting has the end", lambda: len(rows()) == 4 and all(r[3] != "Unknown" for r in rows()), 60)
        print(f"    sacct: {rows()}", flush=True)
        self.assertEqual({one: [int(r[1]) for r in rows() if r[0] == str(one)] for one in self.ids},
                         {self.ids[0]: [2, 8], self.ids[1]: [2, 2]})

    def test_each_component_with_a_range_gets_its_own_size(self):
        job = self.train_both("--ml-quality=resize=requeue,min=1,max=4", RANGE)
        wait_until("it is announced", lambda: "4 + 8 units, before 2 + 2" in self.reason(job), 90)
        self.run_again((4, 8))
        self.assertEqual(self.seen_to_go_on(job), (2, 4))
        log = self.c.log()
        self.assertIn(f"JobId={job} asks for 4 tasks on 4 CPUs now, before 2 on 2", log)
        self.assertIn(f"JobId={self.ids[1]} asks for 8 tasks on 8 CPUs now, before 2 on 2", log)
        self.assertNotIn(f"JobId={self.ids[1]} requeued", log)  # one requeue for both

    def test_with_an_agent_and_the_report_of_each_component(self):
        job = self.train_both("--ml-quality=resize=requeue,min=1,max=4", RANGE, run=f"{STAGE}/bin/mlq run --restart --")
        self.run_again((4, 8))
        self.assertEqual(self.seen_to_go_on(job), (2, 4))
        self.assertEqual([run[3] for run in self.runs()], [2, 4])  # ranks: of the first component
        self.assertIn(f"JobId={job} requeued: it has saved, to go on with 4 + 8 units", self.c.log())
        self.c.run("scancel", job)
        for one, cores in ((job, 4), (f"{job}+1", 8)):  # as squeue writes them
            seconds = self.ran(one)
            report = lambda: {r[0]: float(r[1]) for r in (
                line.split("|") for line in self.c.run("mlq", "report", "-P", one).splitlines()[1:5])}
            wait_until("the report is that of the end", lambda: report()["base"] == cores * seconds[1], 30)
            self.assertAlmostEqual(report()["earlier"], 2 * seconds[0], delta=4)
            self.assertAlmostEqual(report()["total"], report()["base"] + report()["earlier"], delta=0.1)

    def ran(self, job):
        """Seconds of both runs, by accounting."""
        number = sum(int(n) for n in str(job).split("+"))
        rows = lambda: [r.split("|") for r in self.c.run("sacct", "-X", "-n", "-P", "-D", "-S", "now-1days", "-j", number, "-o",
                                                         "JobIDRaw,ElapsedRaw,End").splitlines() if r.startswith(f"{number}|")]
        wait_until("accounting has the end", lambda: len(rows()) == 2 and all(r[2] != "Unknown" for r in rows()), 60)
        return [int(r[1]) for r in rows()]

    def test_dry_run_holds_no_lock_for_one_that_waits(self):
        self.c.set_parameters("mlq_mode=dry-run," + PARAMETERS)
        job = self.c.submit("-n2", "-N1", RANGE, ":", "-n2", "-N1")
        self.ids = [job, job + 1]
        for one in self.ids:
            self.c.wait_state(one, "RUNNING", 90)
        self.c.run("scontrol", "requeue", job)
        wait_until("Slurm keeps it back", lambda: all(self.component(n)["Restarts"] == "1" and "EligibleTime" in self.component(n)
                                                      and self.component(n)["EligibleTime"] != "Unknown" for n in (0, 1)), 60)
        eligible = max(time.mktime(time.strptime(self.component(n)["EligibleTime"], "%Y-%m-%dT%H:%M:%S")) for n in (0, 1))
        wait_until("it is eligible", lambda: self.c.cycle()["time"] > eligible, 60)
        self.assertEqual([self.c.wait_cycles(1)["stats"]["write_holds"] for _ in range(8)], [0] * 8)
        self.assertNotIn(f"JobId={job} has become eligible", self.c.log())

    def test_steps_of_all_components_are_told(self):
        job = self.train_both(run="srun --het-group=0,1 bash -c 'RANK=$SLURM_PROCID exec \"$0\" \"$@\"'")
        self.run_again((8, 2))
        self.seen_to_go_on(job)
        self.assertEqual(self.signals(), ["SIGTERM"])

    def test_who_falls_back_is_not_requeued_again(self):
        job = self.train_both(trainer=("--forgetful",))
        self.run_again((8, 2))
        wait_until("it is said", lambda: "it is not requeued again: it went on from iteration 0" in self.reason(job), 60)

    def test_slurmctld_is_killed_between_the_steps(self):
        # while it saves, and when it was requeued: no component is held, none is forgotten
        job = self.train_both(trainer=("--deaf",))
        wait_until("it was told", self.signals, 90)
        self.c.kill("slurmctld")
        self.c.restart("slurmctld")
        self.run_again((8, 2))
        self.c.cancel_all()
        job = self.train_both("--ml-quality=resize=requeue,min=1,max=4", RANGE)
        wait_until("it was requeued", lambda: all(self.component(n)["Restarts"] == "1" for n in (0, 1)), 90)
        self.c.wait_saved()
        self.c.kill("slurmctld")
        self.c.restart("slurmctld")
        for offset in (0, 1):
            self.assertNotEqual(self.component(offset)["Priority"], "0")
        self.run_again((4, 8))
        self.assertNotRegex(self.c.log(), r"Incomplete hetjob being aborted|Bad het_job_list")
        self.assertEqual(self.c.show(f"{job}+1")["JobState"], "RUNNING")

    def partition(self, state):
        """Up or down from the next time that slurmctld reads its configuration."""
        conf = self.c.dir / "etc/slurm.conf"
        conf.write_text(re.sub(r"^(PartitionName=main .*State=)\w+", rf"\g<1>{state}", conf.read_text(), flags=re.M))

    def test_slurmctld_is_killed_between_two_sizes(self):
        """The first component has its new size in what was saved, by hand in the plugin's place; the second one has not."""
        self.addCleanup(self.partition, "UP")
        job = self.train_both("--ml-quality=resize=requeue,min=1,max=4", RANGE, trainer=("--deaf",))
        wait_until("it was told", self.signals, 90)
        self.partition("DOWN")  # nothing starts meanwhile
        self.c.set_parameters(PARAMETERS + ",mlq_sizing=off")
        wait_until("it was requeued", lambda: all((self.component(n)["Restarts"], self.component(n)["JobState"]) == ("1", "PENDING")
                                                  for n in (0, 1)), 90)
        self.c.run("scontrol", "update", f"JobId={job}+0", "NumTasks=4", "NumCPUs=4")
        self.c.wait_saved()
        self.c.kill("slurmctld")
        self.assertNotRegex(self.c.log(), rf"JobId=({job}|{self.ids[1]}) asks for")
        conf = self.c.dir / "etc/slurm.conf"
        conf.write_text(conf.read_text().replace(",mlq_sizing=off", ""))
        self.c.restart("slurmctld")
        wait_until("the other one is sized", lambda: f"JobId={self.ids[1]} asks for 8 tasks on 8 CPUs now, before 2 on 2"
                   in self.c.log(), 60)
        self.partition("UP")
        self.c.run("scontrol", "reconfigure")
        self.run_again((4, 8), tasks=(2, 8))  # the script's variables are the plugin's own work
        self.assertEqual(self.seen_to_go_on(job), (2, 4))
        self.assertNotIn(f"JobId={job} asks for", self.c.log())

    def test_the_option_is_that_of_its_component(self):
        """Slurm's own way would be to hand it on, and to prefer what was handed on to the script's line."""
        lines = ["#SBATCH -n1 --hold --ml-quality=family=a", "#SBATCH hetjob", "#SBATCH -n1 --hold --ml-quality=family=b",
                 "#SBATCH hetjob", "#SBATCH -n1 --hold", "true"]
        job = self.c.submit(script="\n".join(lines))
        for offset, family in ((0, "a"), (1, "b")):
            wait_until(f"component {offset} is seen", lambda: self.c.status(job + offset), 30)
            self.assertEqual(self.c.quality(job + offset)["family"], family)
        self.c.wait_cycles(3)
        self.assertEqual(self.c.status(job + 2), {})

    def test_a_component_that_slurm_may_not_requeue_keeps_all_as_they_are(self):
        job = self.train_both(second="--no-requeue")
        wait_until("it is said", lambda: "Slurm may not requeue it (Requeue=0)" in self.reason(job), 60)
        self.c.wait_cycles(15)
        self.assertEqual((self.runs()[1:], self.signals(), self.c.state(job), self.c.state(job + 1)),
                         ([], [], "RUNNING", "RUNNING"))


class Ranks(AgentCase):
    options = ("--nodes", "3", "--cpus", "4", "--scheduler", "backfill", "--site-factor", "ml_quality", "--parameters",
               "mlq_interval=1,mlq_horizon=60,mlq_dwell=1,mlq_lead=5")
    SIZES = "--ml-quality=resize=companion,min=1,max=4"
    ECHO = "bash -c 'echo rank $RANK of $WORLD_SIZE, $LOCAL_RANK on $SLURMD_NODENAME, $MLQ_CORES cores'"

    def output(self, job):
        path = self.c.work / f"out-{job}"
        return path.read_text() if path.exists() else ""

    def train(self, *options):
        (self.folder / "worker.py").write_text(WORKER)
        script = (f"export {self.mark} PYTHONPATH={PACKAGE} OMP_NUM_THREADS=1\n"
                  f"exec {STAGE}/bin/mlq run -- {PYTHON} {self.folder}/worker.py {self.folder}")
        job = self.c.submit(*options, script=script)
        self.c.wait_state(job, "RUNNING")
        wait_until("it trains", lambda: "generation 1 rank 0 of 1" in self.output(job), 60)
        return job

    def grown(self):
        job = self.train("-n1", "-t10", self.SIZES, ":", "-n2", "-t60")
        self.steady(job, 4)
        return job

    def test_are_those_of_the_first_component(self):
        job = self.c.submit("-N2", "-n4", "--ntasks-per-node=2", self.SIZES, ":", "-n2", script=f"{STAGE}/bin/mlq run -- {self.ECHO}")
        self.c.wait_state(job, TERMINAL)
        self.assertEqual(sorted(self.output(job).splitlines()),
                         [f"rank {r} of 4, {r % 2} on n{r // 2 + 1}, 4 cores" for r in range(4)])
        self.assertEqual((self.c.state(job), self.c.state(job + 1)), ("COMPLETED", "COMPLETED"))

    def test_the_first_component_has_companions(self):
        job = self.grown()
        companions = self.companions(job)
        for one in companions:  # what is left of the first component's time, not of the second one's
            self.assert_ends_with(one, f"{job}+0")
        report = lambda: dict(line.split("|")[:2] for line in self.c.run("mlq", "report", "-P", job).splitlines())
        wait_until("what they used is known", lambda: float(report()["companions"]) > 0)
        self.assertIn("does not know job", self.c.try_run("mlq", "report", f"{job}+1").stderr)  # it has no --ml-quality
        self.finish(job)
        self.nothing_left(job)
        ranks = {line for line in self.output(job).splitlines() if " of 4" in line}
        self.assertEqual({line.split(" rank ")[1] for line in ranks}, {f"{r} of 4" for r in range(4)})

    def test_scancel(self):
        job = self.grown()
        self.c.run("scancel", f"{job}+1")  # to Slurm the others are not concerned
        self.c.wait_state(job + 1, "CANCELLED")
        self.c.wait_cycles(3)
        self.assertEqual(self.c.state(job), "RUNNING")
        self.steady(job, 4)
        self.c.run("scancel", job)
        self.nothing_left(job)

    def test_another_component_has_no_agent(self):
        job = self.train("-n1", ":", "-n2", self.SIZES)
        explained = lambda: " ".join(self.c.run("mlq", "explain", f"{job}+1").split())
        wait_until("it is known", lambda: self.c.status(job + 1), 30)
        wait_until("it is said", lambda: "no agent: of a heterogeneous job mlq run is the first component's" in explained(), 30)
        self.c.wait_cycles(5)
        self.assertEqual((self.companions(job), self.companions(job + 1)), ({}, {}))
        self.finish(job)
        job = self.c.submit("-n1", self.SIZES, ":", "-n2", self.SIZES,
                            script=f"srun --het-group=1 -n1 {STAGE}/bin/mlq run -- {self.ECHO}")
        self.c.wait_state(job, TERMINAL)
        self.assertEqual((self.c.state(job), self.c.show(job)["ExitCode"]), ("FAILED", "1:0"))
        self.assertIn("of a heterogeneous job the ranks of the first component are started: call mlq run in the batch script",
                      self.output(job))
        self.assertNotIn("rank 0", self.output(job))


if __name__ == "__main__":
    unittest.main()
