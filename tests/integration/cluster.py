# SPDX-License-Identifier: GPL-2.0-or-later
"""A private Slurm for the integration tests: started, asked, disturbed and stopped through tools/private-cluster."""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from unix_http import UnixConnection  # noqa: E402
from waiting import wait_until  # noqa: E402

TOOL = ROOT / "tools/private-cluster"
STAGE = pathlib.Path(os.environ.get("MLQ_STAGE", ROOT / "build/stage"))
TRAINER = pathlib.Path(__file__).with_name("trainer.py")
TERMINAL = {"COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL", "OUT_OF_MEMORY"}


class Cluster:
    """Options are those of `tools/private-cluster start`."""

    def __init__(self, *options):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="mlq-it-"))
        self.work.chmod(0o777)
        self.dir = self.work / "c"
        shutil.copy(TRAINER, self.work / "trainer.py")
        try:
            self.tool("start", self.dir, "--stage", STAGE, *options)
        except BaseException:
            shutil.rmtree(self.work, ignore_errors=True)
            raise
        self.env = {k: v for k, v in os.environ.items() if not re.match(r"_?(SLURM|SBATCH|ML_QUALITY|MLQ_)", k)}
        for line in self.tool("env", self.dir).splitlines():
            name, value = line.removeprefix("export ").split("=", 1)
            self.env[name] = shlex.split(value)[0]
        self.store_socket = self.dir / "mlqd/mlqd.sock"

    def tool(self, *args, timeout=240):
        done = subprocess.run([TOOL, *map(str, args)], capture_output=True, text=True, timeout=timeout)
        if done.returncode:
            raise RuntimeError(f"private-cluster {args[0]}: {done.stderr}")
        return done.stdout

    def close(self):
        try:
            self.tool("stop", self.dir)
        finally:
            if not os.environ.get("MLQ_TEST_KEEP"):
                shutil.rmtree(self.work, ignore_errors=True)

    # --- daemons -----------------------------------------------------------
    def kill(self, daemon, signal="KILL"):
        self.tool("kill", self.dir, daemon, signal)

    def restart(self, daemon):
        self.tool("restart", self.dir, daemon)

    def pid(self, daemon):
        return int((self.dir / f"run/{daemon}.proc").read_text().split()[0])

    def setting(self, name):
        found = re.search(rf"^{name}=(.*)$", (self.dir / "cluster.settings").read_text(), re.M)
        return shlex.split(found[1] or "''")[0]

    def log(self):
        return (self.dir / "log/slurmctld.log").read_text(errors="replace")

    def set_parameters(self, text):
        """Replaces the mlq_ tokens but mlq_url in SchedulerParameters, and reconfigures."""
        conf = self.dir / "etc/slurm.conf"
        lines = conf.read_text().splitlines()
        for i, line in enumerate(lines):
            if line.startswith("SchedulerParameters="):
                kept = [t for t in line.split("=", 1)[1].split(",") if not t.startswith("mlq_") or t.startswith("mlq_url=")]
                lines[i] = "SchedulerParameters=" + ",".join(kept + ([text] if text else []))
        # at once: daemons that still take an earlier reconfigure read it meanwhile
        new = conf.with_suffix(".new")
        new.write_text("\n".join(lines) + "\n")
        new.rename(conf)
        self.run("scontrol", "reconfigure")

    def wait_saved(self):
        """Until slurmctld has written its jobs: what it had not written when it is killed, it forgets."""
        name = f"saved-{time.monotonic_ns()}"
        self.submit("--hold", "-n1", f"--job-name={name}")
        wait_until("slurmctld has saved its jobs", lambda: name.encode() in self.saved("job_state"), 30)

    def saved(self, name):
        """slurmctld's file of jobs, of nodes …, b"" while it is replaced."""
        try:
            return (self.dir / "state" / name).read_bytes()
        except FileNotFoundError:
            return b""

    # --- Slurm's commands --------------------------------------------------
    def try_run(self, *command, env=None, timeout=60):
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=timeout, cwd=self.work,
                              env={**self.env, **(env or {})}, stdin=subprocess.DEVNULL)

    def run(self, *command, **options):
        done = self.try_run(*command, **options)
        if done.returncode:
            raise AssertionError(f"{' '.join(map(str, command))}: {done.stderr}{done.stdout}")
        return done.stdout

    def submit(self, *options, script="exec sleep 1000", env=None):
        """sbatch of a script as root; the job's id."""
        path = self.work / f"job-{time.monotonic_ns()}.sh"
        path.write_text("#!/bin/bash\n" + script + "\n")
        return int(self.run("sbatch", "--parsable", "-o", self.work / "out-%j", *options, path, env=env).split(";")[0])

    def train(self, *options, quality="", iterations=100, interval=0.1, half_life=10.0, then="", **keywords):
        """sbatch of a training that reports losses."""
        option = "--ml-quality" + (f"={quality}" if quality else "")
        script = (f"/usr/bin/python3 {self.work}/trainer.py --iterations {iterations} --interval {interval} "
                  f"--half-life {half_life}\n{then}")
        return self.submit(option, *options, script=script, **keywords)

    def jobs(self, fields="%T"):
        """{job id: text} of all jobs that slurmctld knows, array tasks apart."""
        rows = self.run("squeue", "-h", "-a", "-r", "-t", "all", "-o", f"%A|{fields}").splitlines()
        return {int(r.split("|", 1)[0]): r.split("|", 1)[1] for r in rows}

    def state(self, job):
        return self.jobs().get(job, "UNKNOWN")

    def show(self, job):
        """scontrol show job as a dictionary."""
        text = self.run("scontrol", "-o", "show", "job", job)
        return {k: v.rstrip() for k, v in re.findall(r"(\S+?)=(.*?)(?= \S+?=|$)", text.strip())}

    def tres(self, job, which="AllocTRES"):
        """What it has, or asks for with "ReqTRES", by type; both are TRES before 23.11."""
        shown = self.show(job)
        return dict(entry.split("=") for entry in shown.get(which, shown.get("TRES")).split(","))

    def sprio(self):
        """{job id: {column: whole number}} of the pending jobs."""
        columns = ["PRIORITY", "SITE", "AGE", "FAIRSHARE", "QOS", "NICE"]
        rows = self.run("sprio", "-h", "-o", "%i|%Y|%S|%A|%F|%Q|%N").splitlines()
        return {int(r.split("|")[0]): dict(zip(columns, map(int, r.split("|")[1:]))) for r in rows if r.strip()}

    def site(self, job):
        return self.sprio().get(job, {}).get("SITE", 0)

    def by_priority(self):
        """Ids of the pending jobs, the highest priority first."""
        return [int(r) for r in self.run("squeue", "-h", "-r", "-t", "PD", "-S", "-p,i", "-o", "%A").split()]

    def wait_state(self, job, states, seconds=60):
        wanted = {states} if isinstance(states, str) else set(states)
        return wait_until(f"job {job} is one of {wanted}", lambda: self.state(job) in wanted, seconds)

    def cancel_all(self):
        ids = [i for i, s in self.jobs().items() if s not in TERMINAL]
        for start in range(0, len(ids), 200):
            self.try_run("scancel", *ids[start:start + 200])
        wait_until("no job is left", lambda: not [s for s in self.jobs().values() if s not in TERMINAL], 60)

    def sacct(self, job, *fields):
        """Rows of the job's allocation, as lists of the fields, once accounting knows the job."""
        ask = ("sacct", "-X", "-n", "-P", "-S", "now-1days", "-j", job, "-o", ",".join(fields))
        rows = wait_until(f"accounting knows job {job}", lambda: self.run(*ask).splitlines(), 60)
        return [r.split("|", len(fields) - 1) for r in rows]

    # --- mlqd --------------------------------------------------------------
    def get(self, path):
        connection = UnixConnection(self.store_socket)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        if answer.status != 200:
            raise AssertionError(f"GET {path}: {answer.status} {body[:300]!r}")
        return json.loads(body)

    def cycle(self):
        """What the plugin told mlqd of its last cycle, {} before the first."""
        return self.get(f"/v1/jobs?cluster={self.setting('cluster_name')}").get("cycle") or {}

    def wait_cycles(self, count=2, seconds=30):
        """Until so many cycles began and were reported from now on."""
        for _ in range(count):
            before = self.cycle().get("time", 0)
            wait_until("another cycle", lambda: self.cycle().get("time", 0) > before, seconds, 0.1)
        return self.cycle()

    def quality(self, job, points=0):
        path = f"/v1/jobs/{job}?cluster={self.setting('cluster_name')}"
        return self.get(path + (f"&points={points}" if points else ""))

    def status(self, job):
        """The newest that mlqd knows of the job's rank and curve, {} if nothing."""
        try:
            return self.quality(job).get("status", {})
        except AssertionError:
            return {}

    def reported(self, job):
        """The iterations that mlqd has of the job, in the order of the reports."""
        try:
            return [int(p[0]) for p in self.quality(job, 10000)["points"]]
        except AssertionError:
            return []


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class ClusterTest(unittest.TestCase):
    """One cluster for the tests of a class; each test begins and ends without jobs."""

    options = ()
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.c = Cluster(*cls.options)
        cls.addClassCleanup(cls.c.close)

    def setUp(self):
        self.addCleanup(self.c.cancel_all)
