# SPDX-License-Identifier: GPL-2.0-or-later
"""mlq run that resizes a training: companions asked for, taken in, given back and lost; no sample lost or repeated."""

import collections
import json
import os
import pathlib
import signal
import socket
import subprocess
import time
import unittest

from agent_site import HERE, JOB, PYTHON, Site, running, wait_until

try:
    import torch
except ImportError:
    torch = None

TRAINING = HERE / "elastic_training.py"
SAMPLES = 203
# an elastic worker without a framework: goes wherever the agent says
WORKER = """
import mlq.elastic, os, pathlib, sys, time
agent = mlq.elastic.Agent()
place = agent.first_place()
while place is not None:
    print(f"generation {place.generation} rank {place.rank} of {place.world} units {place.units}", flush=True)
    agent.formed()
    while not agent.due():
        if os.path.exists("finish"):
            sys.exit(0)
        time.sleep(0.02)
    place = agent.place(agent.due())
print("left", flush=True)
"""


class Resizing(unittest.TestCase):
    def setUp(self):
        self.site = Site()
        self.addCleanup(self.site.close)
        self.mark = f"mlq-test-{os.getpid()}-{id(self)}"

    def start(self, *command, **options):
        more = {"OMP_NUM_THREADS": "1", "MARK": self.mark, **options.pop("more", {})}
        process = self.site.start(*command, more=more, **options)

        def end():
            if process.poll() is None:
                process.kill()
            process.communicate()

        self.addCleanup(end)
        return process

    def state(self):
        report = self.site.report()
        return report.get("phase"), report.get("units"), report.get("ranks")

    def steady(self, units, seconds=90):
        wait_until(f"{units} units", lambda: self.state() == ("steady", units, units), seconds)

    def here(self, text):
        """Processes of this site: its folder is in their PATH."""
        return running(text, str(self.site.dir))

    def finish(self, process):
        (self.site.dir / "finish").touch()
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def grown(self, units, grants, **options):
        process = self.start(PYTHON, "-c", WORKER, **options)
        self.site.want(units, grants)
        self.steady(units)
        return process


class Companions(Resizing):
    def test_grows_and_shrinks(self):
        process = self.grown(4, [2, 1])
        self.assertEqual([(c["units"], c["state"]) for c in self.site.report()["companions"]], [(2, "RUNNING"), (1, "RUNNING")])
        self.site.want(3)
        self.steady(3)
        self.assertEqual([c["units"] for c in self.site.report()["companions"]], [2])
        self.site.want(1)
        self.steady(1)
        wait_until("the companions have ended", lambda: not any(self.here(f"MLQ_AGENT_TICKET={t}") for t in (1, 2)))
        self.assertGreaterEqual(self.site.report()["moves"], 3)
        code, out, err = self.finish(process)
        self.assertEqual(code, 0, err)
        self.assertEqual(collections.Counter(out.split("\n"))["left"], 3)
        self.assertIn("rank 3 of 4 units 4", out)
        self.assertEqual(self.site.report()["phase"], "ending")

    def test_what_a_companion_is_submitted_with(self):
        process = self.grown(2, [1], more={"SLURM_MEM_PER_CPU": "512", "ML_QUALITY": "off", "SBATCH_PARTITION": "wrong", "SECRET": "1"})
        job = self.site.jobs()[0]
        for option in ("--parsable", "--nodes=1", "--ntasks=1", "--cpus-per-task=1", "--no-requeue", "--export=ALL",
                       f"--ml-quality=companion={JOB}", f"--job-name=mlq-companion-of-{JOB}", "--partition=p", "--time=90",
                       "--account=acc", "--qos=qos1", "--constraint=big|small", "--mem-per-cpu=512M", "--output=/dev/null",
                       f"--chdir={self.site.dir}", "--nice=100000"):
            self.assertIn(option, job["arguments"])
        self.assertFalse([a for a in job["arguments"] if a.startswith("--reservation")])
        names = set(job["environment"])
        self.assertFalse([n for n in names if n.startswith(("SLURM_", "SBATCH_", "SPANK_")) and n != "SLURM_CONF"])
        self.assertFalse(names & {"ML_QUALITY", "MLQ_TOKEN", "SECRET", "MARK"})
        secret = job["environment"]["MLQ_AGENT_SECRET"]
        self.assertRegex(secret, "^[0-9a-f]{64}$")
        self.assertNotIn(secret, " ".join(job["arguments"]))
        words = {p: pathlib.Path(f"/proc/{p}/cmdline").read_bytes().split(b"\0") for p in running(f"MARK={self.mark}")}
        ranks = [p for p, w in words.items() if w[1:2] == [b"-c"]]
        self.assertEqual(len(ranks), 2)  # the companion's too: it got the parent's environment over the link
        for pid in ranks:
            variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
            self.assertIn(b"SECRET=1", variables)
            self.assertIn(b"MLQ_TOKEN=token", variables)
            self.assertNotIn(secret.encode(), variables)
        self.assertEqual(self.finish(process)[0], 0)

    def test_output_of_companions_comes_over_the_link(self):
        process = self.grown(2, [1], options=["--label"])
        _, out, _ = self.finish(process)
        self.assertIn("[1] generation 2 rank 1 of 2 units 2\n", out)
        self.assertIn("[0] generation 2 rank 0 of 2 units 2\n", out)

    def test_an_agent_that_is_killed_leaves_the_group_smaller(self):
        process = self.grown(3, [1, 1])
        victim = self.site.jobs()[0]["pid"]  # sh became mlq run --join
        self.site.want(2)  # or it would be replaced
        os.kill(victim, signal.SIGKILL)
        self.steady(2, 30)
        wait_until("its ranks are gone", lambda: len(self.here("MLQ_JOINING=1")) <= 1, 30)
        code, out, err = self.finish(process)
        self.assertEqual(code, 0)
        self.assertIn("was lost", err)

    def test_a_companion_that_is_cancelled_leaves(self):
        process = self.grown(2, [1])
        self.site.want(1)
        subprocess.run([self.site.dir / "scancel", str(self.site.jobs()[0]["id"])], check=True)
        self.steady(1, 30)
        self.assertEqual(self.finish(process)[0], 0)

    def test_companions_end_with_a_killed_parent(self):
        process = self.grown(3, [1, 1])
        self.assertGreaterEqual(len(self.here("MLQ_AGENT_TICKET=")), 2)
        process.kill()
        wait_until("nothing is left", lambda: not self.here("MLQ_AGENT_TICKET=") and not running(f"MARK={self.mark}"), 15)

    def test_one_that_waits_too_long_is_cancelled(self):
        (self.site.dir / "hold").touch()
        process = self.start(PYTHON, "-c", WORKER, options=["--start-limit", "2"])
        self.site.want(2, [1])
        wait_until("a refusal", lambda: "Priority" in self.site.report().get("refused", ""), 30)
        wait_until("it is cancelled", lambda: [j["state"] for j in self.site.jobs()] == ["CANCELLED"], 30)
        time.sleep(3)
        self.assertEqual(len(self.site.jobs()), 1)  # and not asked for again at once
        self.assertEqual(self.finish(process)[0], 0)

    def test_sbatch_that_refuses_is_said(self):
        (self.site.dir / "refuse").write_text("sbatch: error: QOSMaxSubmitJobPerUserLimit")
        process = self.start(PYTHON, "-c", WORKER)
        self.site.want(2, [1])
        wait_until("a refusal", lambda: "QOSMaxSubmitJobPerUserLimit" in self.site.report().get("refused", ""), 30)
        code, _, err = self.finish(process)
        self.assertEqual(code, 0)
        self.assertIn("no companion: sbatch: sbatch: error: QOSMaxSubmitJobPerUserLimit", err)

    def test_commands_that_hang_do_not_hold_the_training_up(self):
        (self.site.dir / "slow").write_text("1000")
        process = self.start(PYTHON, "-c", WORKER)
        self.site.want(2, [1])
        wait_until("squeue hangs", lambda: running(str(self.site.dir / "squeue")), 30)
        began = time.monotonic()
        self.assertEqual(self.finish(process)[0], 0)
        self.assertLess(time.monotonic() - began, 15)
        wait_until("the command is gone", lambda: not running(str(self.site.dir / "squeue")), 10)

    def test_a_training_that_cannot_resize_keeps_its_size(self):
        process = self.start("sh", "-c", "while [ ! -e finish ]; do sleep 0.1; done")
        self.site.want(2, [1])
        wait_until("the reason", lambda: "has not attached" in self.site.report().get("refused", ""), 30)
        asked = self.site.asked
        wait_until("it has read its target again", lambda: self.site.asked > asked + 2, 30)
        self.assertEqual(self.site.jobs(), [])
        self.assertEqual(self.finish(process)[0], 0)

    def test_restart_at_each_size(self):
        script = ("trap 'echo saved; exit 0' TERM; echo $MLQ_GENERATION $RANK/$WORLD_SIZE; touch up-$MLQ_GENERATION-$RANK; "
                  "while [ ! -e finish ]; do sleep 0.1; done")
        process = self.start("bash", "-c", script, options=["--restart"])
        wait_until("it runs", (self.site.dir / "up-1-0").exists)
        self.site.want(2, [1])
        wait_until("two ranks", lambda: self.state() == ("steady", 2, 2) and self.site.report()["generation"] == 2, 60)
        wait_until("they run", lambda: all((self.site.dir / f"up-2-{rank}").exists() for rank in (0, 1)))
        self.site.want(1)
        wait_until("one rank", lambda: self.state() == ("steady", 1, 1), 60)
        code, out, err = self.finish(process)
        self.assertEqual(code, 0, err)
        self.assertEqual(sorted(out.splitlines()), sorted(["1 0/1", "saved", "2 0/2", "2 1/2", "saved", "saved", "3 0/1"]))

    def test_strangers_are_not_let_in(self):
        process = self.grown(2, [1])
        address = next(a for a in self.site.jobs()[0]["arguments"] if a.startswith("--wrap=")).rsplit(" ", 1)[1].split(":")
        for text in (b'{"kind":"hello","nonce":"00"}\n{"kind":"join","proof":"x.y.z","ticket":1}\n', b"GET / HTTP/1.0\r\n\r\n",
                     b"x" * 100000, b'{"kind":"join","ticket":1}\n', b"\xff\x00\n", b'{"kind":"leave"}\n'):
            with socket.create_connection((address[0], int(address[1])), timeout=10) as connection:
                connection.settimeout(15)
                received = b""
                try:
                    connection.sendall(text)
                    while got := connection.recv(4096):
                        received += got
                except ConnectionError:
                    pass
                self.assertNotIn(b"welcome", received)
                self.assertNotIn(self.site.jobs()[0]["environment"]["MLQ_AGENT_SECRET"].encode(), received)
        self.assertEqual(self.state(), ("steady", 2, 2))
        self.assertEqual(self.finish(process)[0], 0)


@unittest.skipUnless(torch, "needs PyTorch")
class Training(Resizing):
    """With a real training: every sample exactly once an epoch, and the result of a run that was never resized."""

    def logs(self):
        rows = []
        for path in self.site.dir.glob("log-*"):
            generation = int(path.name.split("-")[1])
            rows += [(generation, *json.loads(line)) for line in path.read_text().splitlines() if line.endswith("]")]
        return rows

    def begin(self, **options):
        return self.start(PYTHON, TRAINING, self.site.dir, more={"PAUSE": "0.02"}, **options)

    def compare_with_a_run_of_one_size(self):
        final = torch.load(self.site.dir / "final-0.pt")
        other = self.site.dir / "other"
        other.mkdir()
        environment = {n: v for n, v in os.environ.items() if not n.startswith(("MLQ_A", "MLQ_J", "SLURM"))}
        environment.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
        subprocess.run([PYTHON, TRAINING, other, str(final["epochs"])], env=environment, check=True, timeout=300)
        want = torch.load(other / "final-0.pt")
        self.assertEqual(final["epochs"], want["epochs"])
        for mine, theirs in zip(final["parameters"], want["parameters"]):
            self.assertLess(float((mine - theirs).abs().max()), 1e-8)
        mine, theirs = (dict(map(json.loads, (folder / "curve").read_text().splitlines())) for folder in (self.site.dir, other))
        self.assertEqual((list(mine), list(theirs)), (list(range(want["epochs"])),) * 2)
        self.assertLess(max(abs(mine[epoch] - theirs[epoch]) for epoch in mine), 1e-8)
        self.assertLess(mine[max(mine)], mine[0])
        return final["epochs"]

    def train_until(self, generation, lines=30):
        wait_until("it trains", lambda: sum(r[0] == generation for r in self.logs()) >= lines, 120)

    def test_one_three_one(self):
        process = self.begin()
        self.train_until(1)
        self.site.want(3, [1, 1])
        self.steady(3, 120)
        self.train_until(self.site.report()["generation"])
        self.site.want(1)
        self.steady(1)
        self.train_until(self.site.report()["generation"])
        code, _, err = self.finish(process)
        self.assertEqual(code, 0, err)
        epochs = self.compare_with_a_run_of_one_size()
        seen = collections.Counter((row[1], sample) for row in self.logs() for sample in row[4])
        self.assertEqual(seen, collections.Counter({(e, s): 1 for e in range(epochs) for s in range(SAMPLES)}))
        self.assertEqual({row[3] for row in self.logs()} >= {1, 3}, True)

    def test_a_rank_that_is_killed_costs_one_iteration(self):
        process = self.begin()
        self.train_until(1)
        self.site.want(3, [1, 1])
        self.steady(3, 120)
        self.train_until(self.site.report()["generation"])
        self.site.want(2)
        os.kill(self.site.jobs()[1]["pid"], signal.SIGKILL)
        self.steady(2, 60)
        self.train_until(self.site.report()["generation"])
        code, _, err = self.finish(process)
        self.assertEqual(code, 0, err)
        self.compare_with_a_run_of_one_size()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


if __name__ == "__main__":
    unittest.main()
