# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of tools/demo, and its trainings run for a moment without Slurm."""

import importlib.util
import io
import math
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

DEMO = Path(__file__).resolve().parents[2] / "tools" / "demo"
sys.path.insert(0, str(DEMO))

import catalogue
import rows
import slurm
import verify
import view
from rows import Row


def have(module):
    return importlib.util.find_spec(module) is not None


class Catalogue(unittest.TestCase):
    def test_the_least_has_seven_algorithms_and_more_demand_than_32_cores(self):
        chosen = catalogue.trainings(catalogue.LEAST, 1)
        self.assertEqual(len(chosen), 16)
        self.assertGreaterEqual(len({training.program for training in chosen}), 7)
        self.assertGreater(sum(training.cores for training in chosen), 2 * 32)
        self.assertTrue(all(1 <= training.cores <= 8 for training in chosen))

    def test_the_most_has_names_and_seeds_of_its_own(self):
        chosen = catalogue.trainings(catalogue.MOST, 1)
        self.assertEqual(len({training.name for training in chosen}), 96)
        self.assertEqual({training.arguments[-1] for training in chosen}, {"1", "2", "3", "4"})

    def test_programs_exist_and_iterations_follow_the_work(self):
        for training in catalogue.trainings(24, 0.001):
            self.assertTrue((DEMO / "train" / training.program).is_file(), training.program)
            self.assertEqual(training.iterations, 5)
            self.assertEqual(training.arguments[-4:-2], ("--iterations", "5"))
            self.assertIn(training.keys.get("iterations"), (None, 5))

    def test_what_reports_accuracy_or_likelihood_is_maximised(self):
        for training in catalogue.trainings(24, 1):
            wants_max = "accuracy" in training.arguments or training.program == "gaussian_mixture.py"
            self.assertEqual(training.keys.get("goal") == "max", wants_max, training.name)


class View(unittest.TestCase):
    def test_bar(self):
        self.assertEqual(view.bar(0.5, 4, True), "██  ")
        self.assertEqual(view.bar(0.53125, 4, True), "██▏ ")
        self.assertEqual(view.bar(1.7, 4, True), "████")
        self.assertEqual(view.bar(-1, 4, False), "    ")
        self.assertEqual(view.bar(1.0, 3, False), "===")
        self.assertEqual(view.bar(None, 3, True), "   ")

    def test_sparkline(self):
        falling = [(float(i), 7.0 - i) for i in range(8)]
        self.assertEqual(view.sparkline(falling, 8, True), "█▇▆▅▄▃▂▁")
        self.assertEqual(view.sparkline(falling, 2, True), "█▁")
        self.assertEqual(view.sparkline([(1.0, 3.0), (1.0, 3.0)], 5, True), "▁")
        self.assertEqual(view.sparkline(falling[:1], 8, True), "")
        self.assertEqual(view.sparkline(falling, 0, True), "")

    def test_number(self):
        self.assertEqual([view.number(value) for value in (None, 0.0, 1234567.0, math.nan, -math.inf)],
                         ["", "0", "1.235e+06", "diverged", "diverged"])

    def test_running_by_gain_then_pending_by_rank_then_ended(self):
        jobs = [Row(1, "a", "COMPLETED"), Row(2, "b", "PENDING", rank=2), Row(3, "c", "PENDING"),
                Row(4, "d", "RUNNING", gain=0.1), Row(5, "e", "RUNNING", gain=0.2), Row(6, "f", "PENDING", rank=1)]
        self.assertEqual([row.job_id for row in rows.ordered(jobs)], [5, 4, 6, 2, 3, 1])

    def test_lines_tell_each_change_once(self):
        out = io.StringIO()
        lines = view.Lines(out, 32, every=1e9)
        row = Row(7, "mlp")
        for state in ("PENDING", "RUNNING", "RUNNING", "COMPLETED"):
            row.state, row.cores = state, 4
            lines.show([row])
        self.assertEqual(out.getvalue().count("job 7 mlp: RUNNING on 4 cores"), 1)
        self.assertEqual(out.getvalue().count("job 7 mlp: COMPLETED"), 1)

    def test_rank_is_shown_of_pending_jobs_only(self):
        row = Row(1, "a")
        rows.update(row, ("PENDING", 4), {"status": {"rank": 3, "gain_per_core": 0.5}})
        self.assertEqual((row.rank, row.gain), (3, 0.5))
        rows.update(row, ("RUNNING", 4), {"status": {"rank": 3, "gain_per_core": 0.25, "fraction": 0.1}})
        self.assertEqual((row.rank, row.gain), (None, 0.25))
        rows.update(row, ("COMPLETED", 4), None)
        self.assertEqual((row.gain, row.fraction), (None, 0.1))


class Verify(unittest.TestCase):
    COMMENT = '{"site":"kept","mlq":{"v":1,"loss":0.123457,"final":true}}'

    def problems(self, printed=(3, 3, 0.1234567), points=None, **account):
        account = dict({"State": "COMPLETED", "AdminComment": self.COMMENT}, **account)
        points = [[1, 2.0, 0, 4], [2, 1.0, 1, 4], [3, 0.1234567, 2, 4]] if points is None else points
        return verify.problems_of(5, "x", printed, points, account)

    def test_all_well(self):
        self.assertEqual(self.problems(), [])

    def test_each_fault_is_named(self):
        for faults, text in (
                ({"State": "FAILED"}, "ended FAILED"),
                ({"printed": (0, None, None)}, "printed no loss"),
                ({"points": []}, "printed 3 losses, mlqd has 0"),
                ({"points": [[1, 2.0, 0, 4], [2, 1.0, 1, 4], [3, 0.2, 2, 4]]}, "mlqd has 0.2 at 3"),
                ({"points": [[1, 2.0, 0, 4], [2, 1.0, 1, 4], [4, 0.1234567, 2, 4]]}, "at 4"),
                ({"AdminComment": "text of a site"}, "tells nothing"),
                ({"AdminComment": '{"mlq":{"loss":0.12,"final":true}}'}, "AdminComment says 0.12"),
                ({"AdminComment": '{"mlq":{"loss":0.123457}}'}, "not written after")):
            problems = self.problems(**faults)
            self.assertEqual(len(problems), 1, problems)
            self.assertIn(text, problems[0])
        self.assertEqual(len(verify.problems_of(5, "x", (1, 1, 1.0), [], None)), 1)

    def test_comment(self):
        self.assertEqual(slurm.comment(self.COMMENT)["loss"], 0.123457)
        for text in ("", "{", "[1]", '{"mlq": 3}', '{"other": {}}'):
            self.assertEqual(slurm.comment(text), {})

    def test_printed_reports(self):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
            log.write("warning: x\niteration 1 loss 2\niteration 12 loss -1.5e-3\niteration 13 loss")
            log.flush()
            self.assertEqual(slurm.printed_reports(log.name), (2, 12, -0.0015))


@unittest.skipUnless(have("sklearn"), "scikit-learn is not installed")
class Trainings(unittest.TestCase):
    """Each program alone, without Slurm: seeded, and getting better."""

    def run_alone(self, training):
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run([sys.executable, DEMO / "train" / training.program, *training.arguments], timeout=300,
                              capture_output=True, text=True, check=False, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return [float(line.split()[3]) for line in done.stdout.splitlines()]

    def test_each_gets_better(self):
        seen = set()
        for training in catalogue.trainings(24, 0.0):
            key = (training.program, "accuracy" in training.arguments)
            if key in seen or (not have("torch") and "torch_loop" in (DEMO / "train" / training.program).read_text()):
                continue
            seen.add(key)
            with self.subTest(training.name):
                losses = self.run_alone(training)
                self.assertEqual(len(losses), 5)
                better = losses[-1] > losses[0] if training.keys.get("goal") == "max" else losses[-1] < losses[0]
                self.assertTrue(better, losses)


if __name__ == "__main__":
    unittest.main()
