#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Heterogeneous jobs with resize=requeue under stock sched/backfill: requeued as a whole, sized component by component."""
import time
import unittest

from cluster import wait_until
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

    def run_again(self, cpus):
        """Both components run for the second time, on so many CPUs, and nothing of them was ever held."""
        wait_until("it runs again", lambda: len(self.runs()) == 2, 120)
        for offset in (0, 1):
            shown = self.component(offset)
            self.assertEqual((shown["JobState"], shown["Restarts"], shown["NumCPUs"], shown["NumTasks"]),
                             ("RUNNING", "1", str(cpus[offset]), str(cpus[offset])), f"component {offset}")
        self.assertEqual((self.folder / "tasks").read_text().splitlines(), ["2 2", f"{cpus[0]} {cpus[1]}"])

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


if __name__ == "__main__":
    unittest.main()
