# SPDX-License-Identifier: GPL-2.0-or-later
"""mlq run as a launcher: what its workers are given, how they end, and that none outlives it."""

import json
import os
import signal
import subprocess
import time
import unittest

from agent_site import MLQ, PYTHON, Site, running, wait_until

SHOW = ("import json, os; print(json.dumps({k: v for k, v in os.environ.items() if k.startswith(('MLQ_', 'SLURM_JOB', 'OMP_')) "
        "or k in ('RANK', 'WORLD_SIZE', 'LOCAL_RANK', 'LOCAL_WORLD_SIZE', 'MASTER_ADDR', 'MASTER_PORT')}), flush=True)")


class Launcher(unittest.TestCase):
    def setUp(self):
        self.site = Site()
        self.addCleanup(self.site.close)

    def run_to_end(self, *command, **options):
        process = self.site.start(*command, **options)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def test_each_rank_gets_its_place(self):
        code, out, _ = self.run_to_end(PYTHON, "-c", SHOW, cores=4, more={"MLQ_CORES": "9"})
        self.assertEqual(code, 0)
        places = sorted((json.loads(line) for line in out.splitlines()), key=lambda e: int(e["RANK"]))
        self.assertEqual([p["RANK"] for p in places], ["0", "1", "2", "3"])
        self.assertEqual([p["LOCAL_RANK"] for p in places], ["0", "1", "2", "3"])
        for place in places:
            self.assertEqual((place["WORLD_SIZE"], place["LOCAL_WORLD_SIZE"]), ("4", "4"))
            self.assertEqual((place["MASTER_ADDR"], place["MLQ_GENERATION"]), ("127.0.0.1", "1"))
            self.assertEqual((place["MLQ_UNITS"], place["MLQ_CORES"], place["OMP_NUM_THREADS"]), ("4", "4", "1"))
            self.assertEqual((place["MLQ_TOKEN"], place["MLQ_JOB"], place["SLURM_JOB_ID"]), ("token", "77", "77"))
            self.assertTrue(place["MLQ_AGENT"].startswith("@mlq-run-"))
            self.assertNotIn("MLQ_AGENT_SECRET", place)
        self.assertEqual(len({p["MASTER_PORT"] for p in places}), 1)
        self.assertIn(int(places[0]["MASTER_PORT"]), range(20000, 32768))

    def test_number_of_ranks(self):
        for ranks, cores, wanted, threads in (("node", 6, 1, "6"), ("3", 6, 3, "2"), ("unit", 2, 2, "1")):
            code, out, _ = self.run_to_end(PYTHON, "-c", SHOW, cores=cores, options=["--ranks", ranks])
            lines = [json.loads(line) for line in out.splitlines()]
            self.assertEqual((code, len(lines), lines[0]["OMP_NUM_THREADS"]), (0, wanted, threads), ranks)
        code, out, _ = self.run_to_end(PYTHON, "-c", SHOW, cores=6, options=["--ranks", "2"], more={"OMP_NUM_THREADS": "5"})
        self.assertEqual({json.loads(line)["OMP_NUM_THREADS"] for line in out.splitlines()}, {"5"})

    def test_units_of_several_cores(self):
        environment = {"SLURM_SPANK__SLURM_SPANK_OPTION_ml_quality_ml_quality": "unit=3,resize=companion"}
        code, out, _ = self.run_to_end(PYTHON, "-c", SHOW, cores=6, more=environment)
        places = [json.loads(line) for line in out.splitlines()]
        self.assertEqual((code, [p["MLQ_UNITS"] for p in places], places[0]["OMP_NUM_THREADS"]), (0, ["2", "2"], "3"))

    def test_wrong_options_name_what_is_allowed(self):
        for options, text in ((["--ranks", "many"], "unit, node or a number from 1 to 4096"),
                              (["--ranks", "0"], "unit, node or a number from 1 to 4096"),
                              (["--resize-signal", "KILL"], "--resize-signal: TERM, INT")):
            code, out, err = self.run_to_end("true", options=options)
            self.assertEqual((code, out), (1, ""))
            self.assertIn(text, err)
        done = subprocess.run([MLQ, "run"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("a command is needed", done.stderr)

    def test_exit_code_is_that_of_the_training(self):
        self.assertEqual(self.run_to_end("sh", "-c", "exit 7")[0], 7)
        self.assertEqual(self.run_to_end("sh", "-c", "kill -USR1 $$")[0], 128 + signal.SIGUSR1)
        code, _, err = self.run_to_end("/nonexistent/program")
        self.assertEqual(code, 127)
        self.assertIn("cannot start \"/nonexistent/program\"", err)

    def test_signals_do_for_a_rank_what_they_do_without_the_agent(self):
        show = ["grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status"]
        wanted = subprocess.run(show, capture_output=True, text=True, check=True, timeout=60).stdout
        for options in ([], ["--label"]):
            code, out, err = self.run_to_end(*show, options=["--ranks", "1", *options])
            self.assertEqual((code, out.replace("[0] ", ""), err), (0, wanted, ""))
        # so a pipe in a training ends when its reader does
        self.assertEqual(self.run_to_end("sh", "-c", "yes | head -n 1", options=["--ranks", "1"]), (0, "y\n", ""))

    def test_one_failed_rank_ends_the_others(self):
        script = ("trap 'echo told; exit 3' TERM; touch up$RANK; [ $RANK != 2 ] || while :; do "
                  "[ -e up0 ] && [ -e up1 ] && [ -e up3 ] && exit 5; sleep 0.1; done; while :; do sleep 0.1; done")
        began = time.monotonic()
        code, out, err = self.run_to_end("bash", "-c", script, cores=4)
        self.assertEqual((code, out), (5, "told\n" * 3))
        self.assertIn("rank 2 on the batch host ended with exit code 5", err)
        self.assertLess(time.monotonic() - began, 25)  # not the 30 s of --grace

    def test_a_rank_that_does_not_end_is_killed_after_the_grace(self):
        mark = f"mlq-test-{os.getpid()}-stubborn"
        script = f"trap '' TERM; [ $RANK = 1 ] && exit 5; echo $$ {mark} >&2; while :; do sleep 0.1; done"
        code, _, _ = self.run_to_end("bash", "-c", script, cores=2, options=["--grace", "1"])
        self.assertEqual(code, 5)
        wait_until("every rank is gone", lambda: not running(mark))

    def test_signals_reach_every_rank(self):
        script = "trap 'echo usr2' USR2; trap 'echo term; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
        process = self.site.start("bash", "-c", script, cores=2, options=["--label"])
        lines = [process.stdout.readline() for _ in range(2)]
        self.assertEqual(sorted(lines), ["[0] ready\n", "[1] ready\n"])
        process.send_signal(signal.SIGUSR2)
        self.assertEqual(sorted(process.stdout.readline() for _ in range(2)), ["[0] usr2\n", "[1] usr2\n"])
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
        self.assertEqual((sorted(out.splitlines()), process.returncode), (["[0] term", "[1] term"], 0))

    def test_labels_keep_lines_whole(self):
        script = "for i in 1 2 3; do printf 'a%s' $i; sleep 0.05; printf 'b\\n'; done; printf 'no end'; printf 'E\\n' >&2"
        code, out, err = self.run_to_end("bash", "-c", script, cores=3, options=["--label", "--quiet"])
        self.assertEqual(code, 0)
        want = [f"[{rank}] {text}" for rank in range(3) for text in ("a1b", "a2b", "a3b", "no end")]
        self.assertEqual(sorted(out.splitlines()), sorted(want))
        self.assertEqual(sorted(err.splitlines()), ["[0] E", "[1] E", "[2] E"])

    def test_much_output_to_a_slow_reader_is_complete(self):
        script = "for i in $(seq 20000); do echo \"$RANK $i xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"; done"
        process = self.site.start("bash", "-c", script, cores=2, options=["--label"])
        time.sleep(2)  # the pipe, the agent's queue and the ranks' pipes are full by now
        out, _ = process.communicate(timeout=120)
        lines = out.splitlines()
        self.assertEqual((process.returncode, len(lines)), (0, 40000))
        for rank in "01":
            self.assertEqual([int(l.split()[2]) for l in lines if l.startswith(f"[{rank}]")], list(range(1, 20001)))

    def test_output_that_is_lost_is_said_and_the_training_goes_on(self):
        script = "for i in 1 2 3; do echo $i; sleep 0.2; done; echo done >&2"
        with open("/dev/full", "wb") as full:
            process = self.site.start("bash", "-c", script, options=["--label"], stdout=full)
            _, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(err.count("mlq: error: output of the training cannot be written: No space left"), 1)
        self.assertIn("[0] done", err)

    def test_no_process_outlives_a_killed_agent(self):
        mark = f"mlq-test-{os.getpid()}-orphan"
        script = f"sleep 1000 & trap '' TERM HUP INT; echo up {mark}; while :; do sleep 0.1; done"
        process = self.site.start("bash", "-c", script, cores=2, options=["--label"], more={"MARK": mark})
        for _ in range(2):
            process.stdout.readline()
        self.assertGreaterEqual(len(running(f"MARK={mark}")), 5)  # agent, two ranks, their children
        process.kill()
        process.wait()
        wait_until("every process is gone", lambda: not running(f"MARK={mark}"), 10)
        process.communicate()

    def test_children_of_a_rank_that_ended_are_ended(self):
        mark = f"mlq-test-{os.getpid()}-child"
        code, _, _ = self.run_to_end("bash", "-c", "sleep 1000 >/dev/null 2>&1 & exit 0", more={"MARK": mark})
        self.assertEqual(code, 0)
        wait_until("the child is gone", lambda: not running(f"MARK={mark}"), 10)

    def test_dry_run_starts_nothing(self):
        code, out, _ = self.run_to_end("touch", "made", cores=4, options=["--dry-run", "--ranks", "2"])
        self.assertEqual(code, 0)
        self.assertFalse((self.site.dir / "made").exists())
        self.assertIn("ranks: 2, on this node 2\n", out)
        self.assertIn("  WORLD_SIZE=2\n", out)
        self.assertIn("--ml-quality=companion=77", out)
        _, out, _ = self.run_to_end("true", options=["--dry-run", "--no-resize"])
        self.assertIn("resizing: no: --no-resize was given", out)

    def test_without_slurm_it_is_a_launcher(self):
        environment = {n: v for n, v in os.environ.items() if not n.startswith(("SLURM", "MLQ_"))}
        done = subprocess.run([MLQ, "run", "--ranks", "2", "--", "sh", "-c", "echo $RANK/$WORLD_SIZE"], env=environment,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, sorted(done.stdout.splitlines()), done.stderr), (0, ["0/2", "1/2"], ""))


if __name__ == "__main__":
    unittest.main()
