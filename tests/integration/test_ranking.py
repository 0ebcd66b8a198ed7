#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Pending ML jobs are ordered by predicted gain, beside and not instead of what Slurm already weighs."""
import time
import unittest

from cluster import ClusterTest, wait_until

WEIGHT = 10000


class Ranking(ClusterTest):
    options = ("--nodes", "1", "--cpus", "4", "--parameters", f"mlq_interval=1,mlq_horizon=5,mlq_weight={WEIGHT}",
               "--conf", "AccountingStorageEnforce=associations,limits,qos", "--conf", "PriorityMaxAge=0-1",
               "--conf", "PriorityWeightAge=60000", "--conf", "PriorityCalcPeriod=1")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        c = cls.c
        # two accounts of equal shares, of which one has used the machine, and a better QOS
        for command in (("add", "account", "busy", "fairshare=10"), ("add", "account", "fresh", "fairshare=10"),
                        ("add", "user", "root", "account=busy", "fairshare=1"),
                        ("add", "user", "root", "account=fresh", "fairshare=1"),
                        ("add", "qos", "better", "priority=100"),
                        ("modify", "account", "busy,fresh", "set", "qos+=better"),
                        ("modify", "user", "root", "set", "qos+=better")):
            c.run("sacctmgr", "-i", *command)
        # what the two families need is learnt from one run of each: 1 and 6 core-seconds to half
        fast = c.train("-n1", "-A", "busy", quality="family=fast", iterations=80, interval=0.1, half_life=8)
        slow = c.train("-n1", "-A", "busy", quality="family=slow", iterations=160, interval=0.2, half_life=30)
        for job in (fast, slow):
            c.wait_state(job, "COMPLETED", 90)
        families = lambda: {f["name"] for f in c.get("/v1/families?cluster=mlq")["families"]}
        wait_until("both families are known", lambda: {"fast", "slow"} <= families(), 30)

    def block(self):
        """Takes the whole node, so that everything else waits."""
        job = self.c.submit("-n4", "-A", "busy", "--exclusive", "--priority=4000000000")
        self.c.wait_state(job, "RUNNING")
        return job

    def pending(self, *options, quality="family=fast", account="busy", **keywords):
        return self.c.train("-n1", "-A", account, *options, quality=quality, iterations=3, interval=0.5, **keywords)

    def plain(self, *options, account="busy", script="true"):
        return self.c.submit("-n1", "-A", account, *options, script=script)

    def test_order_follows_the_predicted_gain_and_shows_as_site(self):
        blocker = self.block()
        slow = self.pending("--exclusive", quality="family=slow")
        wide = self.pending("-n2", "--exclusive", quality="family=fast")
        plain = self.plain("--exclusive")
        fast = self.pending("--exclusive", quality="family=fast")
        self.c.wait_cycles(2)
        site = {j: row["SITE"] for j, row in self.c.sprio().items()}
        self.assertEqual(site[fast], WEIGHT)
        self.assertEqual(site[plain], 0)
        self.assertGreater(site[wide], site[slow])
        self.assertLess(site[wide], WEIGHT)
        self.assertGreater(site[slow], 0)
        # exactly what the plugin says that it computed: the score of each, scaled by the weight
        for job in (fast, wide, slow):
            status = self.c.status(job)
            self.assertEqual(status["source"], "family")
            self.assertEqual(status["site_factor"], round(WEIGHT * status["score"]))
            self.assertAlmostEqual(status["site_factor"], site[job], delta=WEIGHT / 1000)
        self.assertEqual([self.c.status(j)["rank"] for j in (fast, wide, slow)], [1, 2, 3])
        self.assertEqual(self.c.by_priority(), [fast, wide, slow, plain])
        self.c.run("scancel", blocker)
        for job in (fast, wide, slow, plain):
            self.c.wait_state(job, "COMPLETED")
        starts = [self.c.show(j)["StartTime"] for j in (fast, wide, slow, plain)]
        self.assertEqual(starts, sorted(starts))
        self.assertEqual(len(set(starts)), 4)

    def test_a_higher_gain_per_core_wins_over_the_same_gain_on_more_cores(self):
        self.block()
        four = self.pending("-n4")
        one = self.pending("-n1")
        self.c.wait_cycles(2)
        status = {j: self.c.status(j) for j in (one, four)}
        self.assertLess(status[four]["gain_per_core"], status[one]["gain_per_core"])
        self.assertEqual(self.c.by_priority(), [one, four])

    def test_the_priority_is_slurms_own_sum_with_site_added(self):
        self.block()
        jobs = [self.pending(), self.pending(quality="family=slow"), self.pending("--nice=700"), self.plain(),
                self.pending("--qos=better"), self.pending(account="fresh")]
        self.c.wait_cycles(2)
        rows = self.c.sprio()
        for job in jobs:
            row = rows[job]
            whole = row["SITE"] + row["AGE"] + row["FAIRSHARE"] + row["QOS"] - row["NICE"]
            self.assertAlmostEqual(row["PRIORITY"], whole, delta=3)
        same, slow, nice, plain, better, fresh = (rows[j] for j in jobs)
        self.assertEqual((same["SITE"], nice["SITE"], better["SITE"], fresh["SITE"]), (WEIGHT,) * 4)
        self.assertEqual(nice["NICE"], 700)
        self.assertGreater(better["QOS"], same["QOS"])
        self.assertLess(same["FAIRSHARE"], fresh["FAIRSHARE"])

    def test_nice_qos_age_and_fair_share_still_decide(self):
        self.block()
        nice = self.pending("--nice=5000")
        older = self.pending()
        time.sleep(5)
        younger = self.pending()
        fresh = self.pending(account="fresh")
        better = self.pending("--qos=better")
        # Slurm counts ages anew once a minute
        wait_until("ages are counted", lambda: self.c.sprio()[older]["AGE"] > self.c.sprio()[younger]["AGE"] > 0, 90)
        self.assertEqual({self.c.sprio()[j]["SITE"] for j in (nice, older, fresh, younger, better)}, {WEIGHT})
        self.assertEqual(self.c.by_priority(), [better, fresh, older, younger, nice])

    def test_a_plain_job_of_a_better_qos_comes_before_ml_jobs(self):
        self.block()
        first = self.pending()
        plain = self.plain("--qos=better")
        self.c.set_parameters("mlq_interval=1,mlq_horizon=5,mlq_weight=1000")
        self.addCleanup(self.c.set_parameters, f"mlq_interval=1,mlq_horizon=5,mlq_weight={WEIGHT}")
        wait_until("the new weight is used", lambda: self.c.site(first) == 1000)
        self.assertEqual(self.c.by_priority(), [plain, first])

    def test_a_priority_that_an_admin_set_stays(self):
        self.block()
        job, other = self.pending(), self.pending()
        self.c.wait_cycles(2)
        self.c.run("scontrol", "update", f"JobId={job}", "Priority=12345")
        self.c.wait_cycles(4)
        self.assertEqual(self.c.show(job)["Priority"], "12345")
        self.assertIn("by hand", self.c.status(job)["reason"])
        self.assertEqual(self.c.site(other), WEIGHT)

    def test_a_priority_given_at_submission_stays(self):
        self.block()
        job = self.pending("--priority=777")
        self.c.wait_cycles(4)
        self.assertEqual(self.c.show(job)["Priority"], "777")

    def test_a_held_job_stays_held_and_is_ranked_after_its_release(self):
        self.block()
        held = self.pending("--hold")
        later = self.pending()
        self.c.wait_cycles(2)
        self.c.run("scontrol", "hold", later)
        self.c.wait_cycles(4)
        for job, reason in ((held, "JobHeldUser"), (later, "JobHeldAdmin")):
            shown = self.c.show(job)
            self.assertEqual((shown["Priority"], shown["JobState"], shown["Reason"]), ("0", "PENDING", reason))
        self.c.run("scontrol", "release", held, later)
        wait_until("both are ranked again", lambda: (self.c.site(held), self.c.site(later)) == (WEIGHT, WEIGHT))
        self.assertNotEqual(self.c.show(held)["Priority"], "0")

    def test_a_dependent_job_waits_whatever_its_gain(self):
        first = self.plain(script="sleep 4")
        after = self.pending(f"--dependency=afterok:{first}")
        failing = self.plain(script="false")
        never = self.pending(f"--dependency=afterok:{failing}")
        self.c.wait_cycles(2)
        self.assertEqual(self.c.show(after)["Reason"], "Dependency")
        self.c.wait_state(after, "COMPLETED")
        self.assertLessEqual(self.c.show(first)["EndTime"], self.c.show(after)["StartTime"])
        self.assertEqual(self.c.state(never), "PENDING")
        self.assertEqual(self.c.show(never)["Reason"], "DependencyNeverSatisfied")

    def test_all_tasks_of_an_array_are_ranked_and_run(self):
        blocker = self.block()
        array = self.c.train("-n1", "-A", "busy", "--array=0-3%2", quality="family=fast", iterations=3)
        self.c.wait_cycles(2)
        self.assertEqual(self.c.site(array), WEIGHT)
        shown = lambda name: sorted(self.c.run("mlq", "status", "-n", "-P", "-j", name, "-o", "jobid").splitlines())
        self.assertEqual(shown(array), [str(array)])
        self.c.run("scancel", blocker)
        done = lambda: self.c.run("squeue", "-h", "-r", "-t", "all", "-j", array, "-o", "%K %T").splitlines()
        want = [f"{task} COMPLETED" for task in range(4)]
        wait_until("all tasks completed", lambda: sorted(done()) == want, 90)
        wait_until("all tasks are known", lambda: shown(array) == [f"{array}_{task}" for task in range(4)], 30)
        self.assertEqual(shown(f"{array}_2"), [f"{array}_2"])
        self.assertIn(f"Job        {array}_2 ", self.c.run("mlq", "explain", f"{array}_2"))

    def test_a_reservation_is_kept(self):
        self.c.run("scontrol", "create", "reservation", "ReservationName=kept", "StartTime=now+10", "Duration=60",
                   "Users=root", "Nodes=n1")
        self.addCleanup(self.c.try_run, "scontrol", "delete", "ReservationName=kept")
        self.addCleanup(self.c.cancel_all)
        inside = self.plain("--reservation=kept", "--time=5")
        too_long = self.pending("--time=10")
        self.c.wait_cycles(2)
        self.assertEqual(self.c.state(too_long), "PENDING")
        self.c.wait_state(inside, "COMPLETED", 60)
        self.assertEqual(self.c.state(too_long), "PENDING")
        self.assertGreater(self.c.site(too_long), 0)

    def test_a_requeued_job_keeps_its_curve(self):
        job = self.c.train("-n1", "-A", "busy", "--requeue", quality="family=again", iterations=600, half_life=20)
        wait_until("it has a curve", lambda: self.c.status(job).get("points", 0) > 30)
        self.c.submit("-n4", "-A", "busy", "--exclusive", "--priority=4000000000")
        self.c.run("scontrol", "requeue", job)
        self.c.wait_state(job, "PENDING")
        self.c.wait_cycles(3)
        status = self.c.status(job)
        self.assertEqual(status["source"], "curve")
        self.assertGreater(status["points"], 30)
        self.assertEqual(self.c.quality(job)["restarts"], 1)

    def test_off_is_an_ordinary_job(self):
        self.block()
        job = self.pending(quality="off")
        other = self.pending()
        self.c.wait_cycles(2)
        self.assertEqual(self.c.site(job), 0)
        self.assertEqual(self.c.site(other), WEIGHT)


if __name__ == "__main__":
    unittest.main()
