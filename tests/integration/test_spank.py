#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""--ml-quality and ML_QUALITY= on a private Slurm: what is recorded, what is refused, what the job is given.

Needs root and an installed tree (MLQ_STAGE, default build/stage). Ports are free ones, or from MLQ_TEST_PORT on.
"""
import base64
import hashlib
import hmac
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STAGE = pathlib.Path(os.environ.get("MLQ_STAGE", ROOT / "build/stage"))
RECORD = "SPANK__SLURM_SPANK_OPTION_ml_quality_ml_quality"
SHOW = """#!/bin/bash
env | grep -E '^(MLQ_|ML_QUALITY=)' | sort
"""
RANKS = """#!/bin/bash
%s
srun -n4 /bin/bash -c 'echo "$SLURM_PROCID $MLQ_BATCH_OFFSET $MLQ_BATCH_SIZE $MLQ_GLOBAL_BATCH ${MLQ_TOKEN:+token}"' | sort -n
"""


class Cluster:
    def __init__(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="mlq-spank-"))
        self.work.chmod(0o777)
        self.dir = self.work / "cluster"
        self.plugin = self.work / "lib/slurm/spank_ml_quality.so"
        self.plugin.parent.mkdir(parents=True)
        for name in "spank_ml_quality.so", "spank_ml_quality_token.so":
            shutil.copy(STAGE / "lib/slurm" / name, self.plugin.with_name(name))
        prolog = self.work / "prolog"
        prolog.write_text(f"#!/bin/sh\nenv > {self.work}/record.$SLURM_JOB_ID.new\n"
                          f"mv {self.work}/record.$SLURM_JOB_ID.new {self.work}/record.$SLURM_JOB_ID\n")
        prolog.chmod(0o755)
        start = ["start", self.dir, "--nodes", "2", "--scheduler", "backfill", "--mlqd", "none", "--spank", self.plugin,
                 "--conf", f"PrologSlurmctld={prolog}"]
        if "MLQ_TEST_PORT" in os.environ:
            start += ["--port", os.environ["MLQ_TEST_PORT"]]
        self.tool(*start)
        self.plugstack = self.dir / "etc/plugstack.conf"
        self.good_line = self.plugstack.read_text()
        self.key = self.dir / "etc/mlq.key"

    def tool(self, *args):
        done = subprocess.run([ROOT / "tools/private-cluster", *map(str, args)], capture_output=True, text=True, timeout=180)
        if done.returncode:
            raise RuntimeError(done.stderr)

    def run(self, *command, env=None, uid=65534):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("ML", "SLURM", "_SLURM"))}
        return subprocess.run(
            [ROOT / "tools/private-cluster", "exec", self.dir, "--", "setpriv", f"--reuid={uid}", f"--regid={uid}",
             "--clear-groups", *map(str, command)],
            capture_output=True, text=True, timeout=180, cwd=self.work, env={**clean, **(env or {})})

    def script(self, text):
        path = self.work / f"script-{time.monotonic_ns()}"
        path.write_text(text)
        return path

    def submit(self, script, *options, out="/dev/null", env=None):
        done = self.run("sbatch", "--parsable", "-o", out, *options, self.script(script), env=env)
        if done.returncode or done.stderr:
            raise AssertionError(done.stderr)
        return int(done.stdout)

    def batch(self, script, *options, env=None):
        """Submits and waits for the end; (job id, output lines)."""
        out = self.work / f"out-{time.monotonic_ns()}"
        job = self.submit(script, *options, out=out, env=env)
        for _ in range(600):
            state = self.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%T").stdout.strip()
            if state in ("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL"):
                break
            time.sleep(0.2)
        if state != "COMPLETED":
            raise AssertionError(f"job {job} is {state}: " + (out.read_text() if out.exists() else ""))
        return job, out.read_text().splitlines()

    def record(self, job):
        """The option's value in slurmctld's job record, None without one."""
        path = self.work / f"record.{job}"
        for _ in range(400):
            if path.exists():
                found = [l.split("=", 1)[1] for l in path.read_text().splitlines() if l.startswith(RECORD + "=")]
                return found[0] if found else None
            time.sleep(0.1)
        raise AssertionError(f"no prolog of job {job}")

    def log(self, seen={}):
        """What the nodes have logged since the last call."""
        new = ""
        for path in sorted((self.dir / "log").glob("n[0-9]*.log")):
            text = path.read_text()
            new += text[seen.get(path, 0):]
            seen[path] = len(text)
        return new

    def close(self):
        try:
            self.tool("stop", self.dir)
        finally:
            shutil.rmtree(self.work, ignore_errors=True)


def variables(lines):
    return dict(l.split("=", 1) for l in lines)


def claims(token, key):
    """The claims of a token whose signature is right."""
    signed, _, signature = token.rpartition(".")
    want = base64.urlsafe_b64encode(hmac.new(key, signed.encode(), hashlib.sha256).digest()).rstrip(b"=").decode()
    if not hmac.compare_digest(want, signature):
        raise AssertionError("signature")
    payload = signed.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class Spank(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = Cluster()
        cls.addClassCleanup(cls.c.close)

    def plugstack(self, text):
        self.c.plugstack.write_text(text)
        self.addCleanup(self.c.plugstack.write_text, self.c.good_line)

    def test_help_lists_the_option(self):
        for command in "sbatch", "salloc", "srun":
            self.assertRegex(self.c.run(command, "--help").stdout, r"--ml-quality=key=value.*\n\s+\[ml_quality\] rank")

    def test_job_record_of_every_command(self):
        ways = [  # option, environment, in the record
            ("--ml-quality=goal=max,batch=8", {}, "goal=max,batch=8"),
            ("--ml-quality", {}, "on"),
            (None, {"ML_QUALITY": "min=1"}, "min=1"),
            ("--ml-quality=min=2", {"ML_QUALITY": "min=1"}, "min=2"),
            ("--ml-quality", {"ML_QUALITY": "min=1"}, "on"),
            ("--ml-quality=off", {"ML_QUALITY": "min=1"}, "off"),
            (None, {"ML_QUALITY": "off"}, "off"),
            (None, {"ML_QUALITY": ""}, "off"),
            (None, {}, None),
        ]
        print_id = ["/bin/sh", "-c", "echo $SLURM_JOB_ID"]
        for option, env, want in ways:
            options = [option] if option else []
            with self.subTest(option=option, env=env, command="sbatch"):
                self.assertEqual(self.c.record(self.c.submit(SHOW, *options, env=env)), want)
            for command in "salloc", "srun":
                with self.subTest(option=option, env=env, command=command):
                    done = self.c.run(command, "-Q", "-n1", *options, *print_id, env=env)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertEqual(self.c.record(int(done.stdout)), want)

    def test_order_of_script_twin_and_command_line(self):
        script = "#!/bin/bash\n#SBATCH --ml-quality=min=5\n"
        twin = {"ML_QUALITY": "min=6"}
        self.assertEqual(self.c.record(self.c.submit(script)), "min=5")
        self.assertEqual(self.c.record(self.c.submit(script, env=twin)), "min=6")
        self.assertEqual(self.c.record(self.c.submit(script, "--ml-quality=min=7", env=twin)), "min=7")

    def test_bad_values_refuse_the_submission(self):
        for option, env, reason in [
            ("--ml-quality=gaol=min", {}, 'unknown key: given "gaol"; allowed: goal, target, min'),
            ("--ml-quality=target=nan", {}, 'target: given "nan"; allowed: a decimal number'),
            ("--ml-quality=min=4,max=2", {}, "min: given 4 with max=2; allowed: min not above max"),
            ("--ml-quality=off,min=4", {}, "off: given with other keys"),
            ("-n1", {"ML_QUALITY": "resize=yes"}, 'resize: given "yes"; allowed: none, companion or requeue'),
            ("-n1", {"ML_QUALITY": "x" * 2000}, "the option: given more than 1023 bytes"),
        ]:
            for command in (["sbatch", "--wrap", "true"], ["salloc", "true"], ["srun", "true"]):
                done = self.c.run(command[0], option, *command[1:], env=env)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(reason, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_job_gets_a_token_of_its_own(self):
        job, lines = self.c.batch(SHOW, "-n3", "--ml-quality=goal=max", env={"SLURM_CLUSTER_NAME": "other"})
        got = variables(lines)
        self.assertEqual(got["MLQ_JOB"], str(job))
        self.assertEqual(got["MLQ_GOAL"], "max")
        self.assertEqual(got["MLQ_CORES"], "3")
        self.assertEqual(got["MLQ_URL"], re.search(r"url=(\S+)", self.c.good_line)[1])
        token = claims(got["MLQ_TOKEN"], self.c.key.read_bytes())
        self.assertEqual((token["cluster"], token["job"], token["uid"], token["restarts"]), ("mlq", job, 65534, 0))
        self.assertEqual(token["exp"] - token["iat"], 30 * 86400)
        self.assertLess(abs(token["iat"] - time.time()), 60)

    def test_ranks_of_inner_srun_share_the_batch(self):
        want = ["0 0 3 11 token", "1 3 3 11 token", "2 6 3 11 token", "3 9 2 11 token"]
        self.assertEqual(self.c.batch(RANKS % "", "-n4", "--ml-quality=batch=11")[1], want)
        self.assertEqual(self.c.batch(RANKS % "", "-n4", "-N2", env={"ML_QUALITY": "batch=11"})[1], want)
        for command in (["srun", "-Q", "-n4", "--ml-quality=batch=11"],
                        ["salloc", "-Q", "-n4", "--ml-quality=batch=11", "srun", "-n4"],
                        ["salloc", "-Q", "-n4", "--ml-quality=batch=11", "srun", "-n4", "--export=NONE"]):
            done = self.c.run(*command, "/bin/bash", "-c",
                              'echo "$SLURM_PROCID $MLQ_BATCH_OFFSET $MLQ_BATCH_SIZE $MLQ_GLOBAL_BATCH ${MLQ_TOKEN:+token}"')
            self.assertEqual(sorted(done.stdout.splitlines()), want, done.stderr)

    def test_without_the_environment_of_the_submitter(self):
        script = "#!/bin/bash\necho ${MLQ_TOKEN:+token} $MLQ_GLOBAL_BATCH\nsrun -n2 /bin/bash -c 'echo ${MLQ_TOKEN:+token} $MLQ_BATCH_SIZE'\n"
        for export in "NONE", "NIL", "SOME=thing":
            with self.subTest(export=export):
                _, lines = self.c.batch(script, "-n2", f"--export={export}", "--ml-quality=batch=4")
                self.assertEqual(lines, ["token 4", "token 2", "token 2"])

    def test_tasks_of_an_array_are_jobs_of_their_own(self):
        out = self.c.work / "array-%a"
        first = self.c.submit(SHOW, "--array=1-2", "-n1", "--ml-quality=batch=6", out=out)
        texts = []
        for task in "1", "2":
            path = self.c.work / f"array-{task}"
            for _ in range(400):
                if path.exists() and "MLQ_URL" in path.read_text():
                    break
                time.sleep(0.1)
            texts.append(variables(path.read_text().splitlines()))
        jobs = [claims(got["MLQ_TOKEN"], self.c.key.read_bytes())["job"] for got in texts]
        self.assertEqual([str(job) for job in jobs], [got["MLQ_JOB"] for got in texts])
        self.assertEqual(len(set(jobs)), 2)
        self.assertIn(first, jobs)
        self.assertEqual([self.c.record(job) for job in jobs], ["batch=6"] * 2)

    def test_step_can_be_excluded(self):
        _, lines = self.c.batch("#!/bin/bash\nsrun --ml-quality=off /bin/bash -c 'env | grep -c ^MLQ_ || true'\n"
                                "ML_QUALITY=off srun /bin/bash -c 'env | grep -c ^MLQ_ || true'\n", "-n1", "--ml-quality")
        self.assertEqual(lines, ["0", "0"])

    def test_job_submitted_from_a_job_inherits_nothing(self):
        inner = self.c.script(SHOW)
        for first, env in (["--ml-quality=batch=4"], {}), ([], {"ML_QUALITY": "batch=4"}):
            out = self.c.work / f"inner-{time.monotonic_ns()}"
            _, lines = self.c.batch(f"#!/bin/bash\nsbatch --wait --parsable -n1 -o {out} {inner}\n", "-n1", *first, env=env)
            self.assertIsNone(self.c.record(int(lines[-1])))
            self.assertEqual(out.read_text(), "")
        done = self.c.run("salloc", "-Q", "-n1", "--ml-quality=batch=4", "sbatch", "--wait", "--parsable", "-o", out, inner)
        self.assertIsNone(self.c.record(int(done.stdout)))
        self.assertEqual(out.read_text(), "")

    def test_ml_job_submitted_from_a_job_has_its_own_values(self):
        inner = self.c.script(SHOW)
        out = self.c.work / "inner-own"
        outer, lines = self.c.batch(f"#!/bin/bash\nsbatch --wait --parsable -n1 --ml-quality -o {out} {inner}\n", "-n1",
                                    "--ml-quality=batch=4,goal=max")
        got = variables(out.read_text().splitlines())
        self.assertNotIn("MLQ_GLOBAL_BATCH", got)
        self.assertEqual(got["MLQ_GOAL"], "min")
        self.assertEqual(claims(got["MLQ_TOKEN"], self.c.key.read_bytes())["job"], int(lines[-1]))
        self.assertNotEqual(int(lines[-1]), outer)

    def test_twin_in_the_environment_of_the_job_only(self):
        """As slurmrestd's clients give it: no command of Slurm has seen it."""
        job, lines = self.c.batch(SHOW, "--export=ALL,ML_QUALITY=goal=max")
        got = variables(lines)
        self.assertEqual((got["MLQ_JOB"], got["MLQ_GOAL"]), (str(job), "max"))
        self.assertNotIn("ML_QUALITY", got)

    def test_loaded_twice_it_is_silent(self):
        copy = self.c.plugin.with_name("copy.so")
        shutil.copy(self.c.plugin, copy)
        line = self.c.good_line
        for second in line, line.replace(str(self.c.plugin), str(copy)):
            self.plugstack(line + second)
            self.c.log()
            job, lines = self.c.batch(RANKS % "", "-n4", "--ml-quality=batch=11")
            self.assertEqual(lines[0], "0 0 3 11 token")
            self.assertEqual(self.c.record(job), "batch=11")
            done = self.c.run("srun", "-Q", "-n1", "--ml-quality", "/bin/sh", "-c", "env | grep -c ^_MLQ_; echo ${MLQ_TOKEN:+token}")
            self.assertEqual((done.stdout, done.stderr), ("0\ntoken\n", ""))
            self.assertNotIn("error", self.c.log())

    def test_faults_of_the_installation_leave_the_job_alone(self):
        missing = self.c.good_line.replace(str(self.c.key), "/nowhere/mlq.key")
        for line, reason in [
            (missing, "/nowhere/mlq.key"),
            (self.c.good_line.replace("cluster=", "claster="), "unknown argument: given"),
            (self.c.good_line.replace(" key=", " key=relative/"), "key: given"),
            (self.c.good_line.split(" url=")[0] + "\n", "url: not given"),
        ]:
            self.plugstack(line)
            self.c.log()
            _, lines = self.c.batch(SHOW, "-n1", "--ml-quality=batch=6")
            got = variables(lines)
            self.assertEqual(got["MLQ_BATCH_SIZE"], "6")
            self.assertNotIn("MLQ_TOKEN", got)
            self.assertNotIn("MLQ_URL", got)
            said = [l for l in self.c.log().splitlines() if "ml_quality" in l]
            self.assertEqual(len(said), 1, said)
            self.assertIn(reason, said[0])
        self.assertNotRegex(self.c.run("sinfo", "-hNo", "%T").stdout, "drain|down")

    def test_zz_no_secret_in_any_log(self):
        key = self.c.key.read_text().strip()
        for path in (self.c.dir / "log").iterdir():
            text = path.read_text(errors="replace")
            self.assertNotIn(key, text, path)
            self.assertNotIn("eyJ", text, path)


if __name__ == "__main__":
    unittest.main(verbosity=2)
