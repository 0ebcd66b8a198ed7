# SPDX-License-Identifier: GPL-2.0-or-later
"""mlq balance on recorded speeds: what it prints, and that the predictors and policies are as good as they are said to be."""

import json
import os
import subprocess
import tempfile
import unittest

MLQ = os.path.join(os.getcwd(), "mlq")
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")


def run(*arguments):
    return subprocess.run([MLQ, "balance", *map(str, arguments)], capture_output=True, text=True, timeout=300)


def replay(trace, *arguments):
    done = run("--json", "--trace", trace, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rmse(trace, *arguments):
    return {name: value["rmse"] for name, value in replay(trace, *arguments)["predictors"].items()}


class WithoutSignal(unittest.TestCase):
    """Mini-batch times of a production cluster. NARX's settings were chosen on the first halves."""

    def test_narx_is_no_worse_than_the_better_of_ema_and_arima(self):
        for job in (2, 3):
            trace = os.path.join(DATA, "worker-speed", f"pai-minibatch-job{job}.csv")
            for skip in (20, 124):
                with self.subTest(job=job, skip=skip):
                    found = rmse(trace, "--predictor", "narx,ema,arima", "--policy", "equal", "--skip", skip)
                    self.assertLessEqual(found["narx"], min(found["ema"], found["arima"]))

    def test_balanced_beats_every_baseline(self):
        trace = os.path.join(DATA, "worker-speed", "pai-minibatch-job2.csv")
        times = {name: value["time_vs_equal"] for name, value in replay(trace)["policies"].items()}
        self.assertEqual(times["equal"], 1)
        self.assertLess(times["lb"], 0.95)
        for baseline in ("pair", "dbs", "static"):
            self.assertLessEqual(times["lb"], times[baseline], baseline)


class UnderContention(unittest.TestCase):
    """Speeds of a training whose core a recorded load took part of. No setting was chosen on them."""

    def test_narx_is_no_worse_than_the_better_of_ema_and_arima(self):
        folder = os.path.join(DATA, "contention")
        names = sorted(os.listdir(folder))
        self.assertEqual(len(names), 6)
        for name in names:
            with self.subTest(trace=name):
                found = rmse(os.path.join(folder, name), "--predictor", "narx,ema,arima", "--policy", "equal")
                self.assertLessEqual(found["narx"], min(found["ema"], found["arima"]))

    def test_the_straggler_is_followed_as_closely_as_before_equal_ranks_were_spared(self):
        times = {"bitbrains-rnd-005-2s": 0.61, "bitbrains-rnd-018-1s": 0.66, "planetlab-006-1s": 0.60,
                 "planetlab-013-0.3s": 0.70, "planetlab-020-1s": 0.50, "planetlab-032-0.3s": 0.64}
        for name, most in times.items():
            with self.subTest(trace=name):
                found = replay(os.path.join(DATA, "contention", name + ".csv"), "--predictor", "last", "--policy", "lb", "--batch", 384)
                self.assertLessEqual(found["policies"]["lb"]["time_vs_equal"], most)


class Output(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, text):
        path = os.path.join(self.folder.name, "speeds.csv")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_forms(self):
        rows = "".join(f"{w},{t},{10 + 10 * w}\n" for t in range(60) for w in range(2))
        trace = self.file("worker,time,speed\n" + rows)
        whole = replay(trace, "--predictor", "last,ema", "--policy", "lb,equal", "--batch", 30)
        self.assertEqual((whole["workers"], whole["iterations"]), (2, 60))
        self.assertEqual(whole["predictors"], {"last": {"rmse": 0}, "ema": {"rmse": 0}})
        # 15 samples at 10 a second against 10 at 10 and 20 at 20
        self.assertAlmostEqual(whole["policies"]["lb"]["time_vs_equal"], 1 / 1.5, delta=0.02)
        self.assertAlmostEqual(whole["policies"]["equal"]["fraction_of_ceiling"], 1 / 1.5, places=6)
        lines = run("-P", "--trace", trace, "--predictor", "last", "--policy", "equal").stdout.splitlines()
        self.assertEqual(lines[:2], ["predictor|rmse", "last|0.0000"])
        self.assertEqual(lines[2], "policy|time_vs_equal|fraction_of_ceiling|changes")
        self.assertEqual(lines[3], "equal|1.0000|0.6667|0")

    def test_errors_name_what_is_wrong(self):
        for text, wanted in (("", "empty"), ("worker,time\n0,1\n", "'speed'"), ("worker,speed\n0,fast\n", "line 2: speed is 'fast'"),
                             ("worker,speed\n0,-1\n", "above 0"), ("worker,speed\n0,1,2\n", "3 fields, the header has 2")):
            done = run("--trace", self.file(text))
            self.assertEqual(done.returncode, 1, text)
            self.assertIn(wanted, done.stderr)
        self.assertNotEqual(run("--trace", self.file("worker,speed\n0,1\n"), "--policy", "magic").returncode, 0)


if __name__ == "__main__":
    unittest.main()
