# SPDX-License-Identifier: GPL-2.0-or-later
"""The command mlq, as built, against an mlqd that answers from a table."""

import json
import os
import subprocess
import tempfile
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

MLQ = os.path.join(os.getcwd(), "mlq")
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")
NOW = 1_800_000_000.0

JOBS = [
    {
        "job_id": 12, "submit": 1_799_999_000, "uid": 1000, "user": "ann", "account": "vision", "partition": "cpu",
        "name": "resnet|50", "state": "RUNNING", "ended": False, "cores": 4, "start": 1_799_999_400, "end": 0,
        "stored": 3, "last_report": NOW - 75, "agent": {"phase": "growing", "units": 6, "moves": 3, "lost_s": 1.5},
        "status": {
            "iteration": 20, "loss": 0.5, "fraction": 0.75, "gain_per_core": 0.01, "rank": 2, "ranked": 2,
            "verdict": "improving", "horizon": 60, "core_seconds": 1150.5,
            "usage": {"base": 800, "companions": 350.5, "earlier": 0, "companion_jobs": 2},
            "target": {"units": 8, "base": 4, "held": 6, "lead": 30}, "resize": {"reason": "8 units"},
            "forecast": {"iterations": 10, "now": 0.5, "predicted": 0.4, "lower": 0.3, "upper": 0.45},
        },
    },
    {
        "job_id": 13, "uid": 1001, "user": "bob", "account": "nlp", "partition": "gpu", "name": "bert",
        "state": "PENDING", "ended": False, "cores": 2, "status": {"rank": 1, "ranked": 2, "reason": "new"},
    },
    {
        "job_id": 9, "uid": 1000, "user": "ann", "account": "vision", "partition": "cpu", "name": "old",
        "state": "COMPLETED", "ended": True, "cores": 2, "status": {"verdict": "plateau"},
    },
    {
        "job_id": 20, "uid": 1000, "user": "ann", "account": "vision", "partition": "cpu", "name": "sweep",
        "state": "FAILED", "ended": True, "cores": 2, "array_job_id": 20, "array_task_id": 7, "status": {},
    },
    {
        "job_id": 21, "uid": 1000, "user": "ann", "account": "vision", "partition": "cpu", "name": "sweep",
        "state": "COMPLETED", "ended": True, "cores": 2, "array_job_id": 20, "array_task_id": 0, "status": {"loss": 0.25},
    },
]  # fmt: skip
SWEEP = [{"job_id": 1000 + task, "uid": 1000, "user": "ann", "name": "big", "state": "RUNNING", "ended": False, "cores": 1,
          "array_job_id": 1000, "array_task_id": task, "partition": "cpu", "status": {}} for task in range(200)]  # fmt: skip
BATCHES = [
    {"node": "n1", "received": NOW - 12, "ranks": [[0, 40, 512.25], [2, 41, None]]},
    {"node": "n2", "received": NOW - 3, "ranks": [[1, 47, 601.5]]},
]  # fmt: skip
POINTS = [[0, 2.0, NOW - 100, 4], [10, None, NOW - 90, 4], [20, 0.5, NOW - 75, None]]


class Daemon(BaseHTTPRequestHandler):
    cycle_age = 1
    asked = 0

    def do_GET(self):
        address = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        status, body = self.answer(address.path, query)
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def answer(self, path, query):
        common = {
            "v": 1, "time": NOW, "cluster": query.get("cluster", "alpha"),
            "cycle": {"time": NOW - self.cycle_age, "mode": "active", "weight": 1000, "interval": 3},
        }  # fmt: skip
        type(self).asked += 1
        if path == "/v1/jobs" and query.get("job_id") == "1000":
            return 200, {**common, "jobs": SWEEP}
        if path == "/v1/jobs":
            jobs = [
                job
                for job in JOBS
                if (query.get("all") == "1" or not job["ended"])
                and query.get("job_id", str(job["job_id"])) in (str(job["job_id"]), str(job.get("array_job_id")))
                and query.get("user", job["user"]) == job["user"]
            ]
            return 200, {**common, "jobs": jobs}
        if path == "/v1/jobs/12":
            return 200, {**JOBS[0], **common, "points": POINTS, "batches": BATCHES}
        if path == "/v1/jobs/9":
            return 200, {**JOBS[2], **common, "points": []}
        if path == "/v1/jobs/21":
            return 200, {**JOBS[4], **common, "points": []}
        if path == "/v1/jobs/77":
            return 429, {"error": "too fast"}
        return 404, {"error": "not known"}

    def log_message(self, *args):
        pass


class Commands(unittest.TestCase):
    def setUp(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Daemon)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def mlq(self, *arguments, url=True, status=0, **environment):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("MLQ_", "SLURM_", "NO_COLOR"))}
        command = [MLQ, *arguments] + (["--url", self.url, "-M", "alpha"] if url else [])
        result = subprocess.run(
            command, env={**clean, "TZ": "UTC", **environment}, capture_output=True, text=True, timeout=60
        )
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    def rows(self, *arguments):
        return self.mlq("status", "-P", *arguments).stdout.splitlines()

    def test_table_is_ranked_and_uncut(self):
        result = self.mlq("status")
        self.assertEqual(result.stderr, "")
        self.assertEqual(
            result.stdout.splitlines(),
            [
                "JOBID USER NAME      STATE   CORES ITERATION LOSS REACHED GAIN/CORE RANK FIT        AGE",
                "   13 bob  bert      PENDING     2         -    -       -         -    1 -            -",
                "   12 ann  resnet|50 RUNNING     4        20  0.5   75.0%      0.01    2 improving 1:15",
            ],
        )

    def test_parsable_and_filters(self):
        self.assertEqual(self.rows("-n", "-o", "jobid,name"), ["13|bert", "12|resnet?50"])
        self.assertEqual(self.rows("-n", "-a", "-o", "jobid"), ["13", "12", "9", "20_7", "20_0"])
        self.assertEqual(self.rows("-n", "-j", "9,13", "-o", "jobid"), ["13", "9"])
        self.assertEqual(self.rows("-n", "-j", "9", "-o", "jobid,state"), ["9|COMPLETED"])
        self.assertEqual(self.rows("-n", "-u", "ann", "-o", "jobid"), ["12"])
        self.assertEqual(self.rows("-n", "-u", "ann,bob", "-p", "gpu", "-o", "jobid"), ["13"])
        self.assertEqual(self.rows("-n", "-A", "vision", "-o", "jobid,start"), ["12|2027-01-15T07:50:00"])
        self.assertEqual(self.rows("-u", "nobody", "-o", "jobid,loss"), ["JOBID|LOSS"])

    def test_arrays_are_named_as_squeue_does(self):
        self.assertEqual(self.rows("-n", "-j", "20", "-o", "jobid,jobidraw,state"), ["20_7|20|FAILED", "20_0|21|COMPLETED"])
        self.assertEqual(self.rows("-n", "-j", "20_0", "-o", "jobidraw"), ["21"])
        self.assertEqual(self.rows("-n", "-j", "9,20_7", "-o", "jobidraw"), ["9", "20"])
        self.assertEqual(self.rows("-n", "-j", "20_1", "-o", "jobid"), [])
        jobs = json.loads(self.mlq("status", "--json", "-j", "20_0,9").stdout)["jobs"]
        self.assertEqual([(job["job_id"], job["array_job_id"], job["array_task_id"]) for job in jobs], [(9, None, None), (21, 20, 0)])
        self.assertIn("Job        20_0 sweep", self.mlq("explain", "20_0").stdout)
        self.assertEqual(json.loads(self.mlq("report", "20_0", "--json").stdout)["job"]["loss"], 0.25)
        self.assertIn("does not know job 20_1 of cluster alpha", self.mlq("explain", "20_1", status=1).stderr)

    def test_tasks_of_a_large_array_cost_few_questions(self):
        for options, questions in (["-P"], 1), ([], 65), (["-P", "--ranks"], 65), (["--json"], 65):
            Daemon.asked = 0
            result = self.mlq("status", "-j", "1000", *options)
            self.assertEqual(Daemon.asked, questions, options)
            warned = "of the first 64 jobs only" in (result.stdout if "--json" in options else result.stderr)
            self.assertEqual(warned, questions > 1, options)
        self.assertEqual(len(self.rows("-n", "-j", "1000")), 200)

    def test_a_task_knows_its_own_number(self):
        Daemon.asked = 0
        own = {"SLURM_ARRAY_JOB_ID": "30", "SLURM_ARRAY_TASK_ID": "4", "SLURM_JOB_ID": "12"}
        self.assertIn("Rank       2 of 2", self.mlq("explain", "30_4", **own).stdout)
        self.assertEqual(Daemon.asked, 1)
        self.assertIn("does not know job 30_5", self.mlq("explain", "30_5", status=1, **own).stderr)

    def test_ranks(self):
        shown = self.mlq("status", "-j", "12").stdout.split("\n\n")
        self.assertTrue(shown[0].startswith("JOBID USER"))
        self.assertEqual(shown[1].splitlines(), [
            "JOBID RANK NODE BATCH SPEED  AGE",
            "   12    0 n1      40 512.2 0:12",
            "   12    1 n2      47 601.5 0:03",
            "   12    2 n1      41     - 0:12",
        ])  # fmt: skip
        self.assertEqual(self.rows("-j", "12", "--ranks", "-n"), ["12|0|n1|40|512.2|0:12", "12|1|n2|47|601.5|0:03", "12|2|n1|41|-|0:12"])
        self.assertEqual(len(self.rows("-j", "12")), 2)  # one table for scripts
        self.assertEqual(len(self.mlq("status", "-j", "9").stdout.splitlines()), 2)
        jobs = json.loads(self.mlq("status", "--json", "-j", "9,12").stdout)["jobs"]
        self.assertEqual([job["ranks"] for job in jobs], [[
            {"rank": 0, "node": "n1", "batch": 40, "speed": 512.25, "age": 12},
            {"rank": 1, "node": "n2", "batch": 47, "speed": 601.5, "age": 3},
            {"rank": 2, "node": "n1", "batch": 41, "speed": None, "age": 12},
        ], []])  # fmt: skip
        self.assertIn("-j ID is needed", self.mlq("status", "--ranks", status=1).stderr)

    def test_status_json(self):
        answer = json.loads(self.mlq("status", "--json").stdout)
        self.assertEqual(answer["schema_version"], 1)
        self.assertEqual((answer["errors"], answer["warnings"]), ([], []))
        self.assertEqual(answer["meta"]["cluster"], "alpha")
        self.assertEqual([job["job_id"] for job in answer["jobs"]], [13, 12])
        self.assertEqual(answer["jobs"][1]["name"], "resnet|50")
        self.assertEqual(answer["jobs"][1]["age"], 75)
        self.assertIsNone(answer["jobs"][0]["loss"])
        self.assertEqual(answer["jobs"][0].keys(), answer["jobs"][1].keys())

    def test_explain(self):
        text = self.mlq("explain", "12").stdout
        self.assertIn("Forecast   in 1:00, 10 iterations: 0.4, with 80 % between 0.3 and 0.45", text)
        self.assertIn("Rank       2 of 2", text)
        self.assertNotIn("*", text)  # no terminal, no curve
        self.assertIn("Rank       2 of 2", self.mlq("explain", "10+2").stdout)  # component 2 of heterogeneous job 10
        self.assertIn(" |*", self.mlq("explain", "12", "--curve").stdout)
        answer = json.loads(self.mlq("explain", "12", "--json").stdout)
        self.assertEqual(answer["job"]["forecast"]["predicted"], 0.4)
        self.assertEqual([point["loss"] for point in answer["points"]], [2.0, None, 0.5])
        self.assertTrue(self.mlq("explain", "12", "-P").stdout.startswith("JOBID|USER|"))

    def test_report(self):
        self.assertEqual(self.mlq("report", "12", "-P").stdout.splitlines(),
                         ["CORE_SECONDS|USED|JOBS", "base|800|1", "companions|350.5|2", "earlier|0|-", "total|1150.5|-"])
        text = self.mlq("report", "12").stdout
        self.assertRegex(text, r"companions +350.5 +2\n")
        self.assertRegex(text, r"moves +3 +1.5 s without progress")
        answer = json.loads(self.mlq("report", "12", "--json").stdout)
        self.assertEqual(answer["core_seconds"], {"base": 800, "companions": 350.5, "earlier": 0, "total": 1150.5})
        self.assertEqual(answer["job"]["size"]["held"], 6)
        self.assertIn("does not know job 99", self.mlq("report", "99", status=1).stderr)

    def test_errors(self):
        for arguments, message in [
            (["explain", "99"], "does not know job 99 of cluster alpha"),
            (["explain", "77"], "refused with 429: too fast"),
            (["explain", "0"], "JOBID"),
            (["explain", "12", "--plot", "/nonexistent/x.png"], "--plot: /nonexistent/x.png cannot be written"),
            (["status", "-j", "12_x"], '-j: a job id is a number from 1, N_K as of an array, or N+K as of a heterogeneous job, given was "12_x"'),
            (["report", "12+"], 'JOBID: a job id is a number from 1, N_K as of an array, or N+K as of a heterogeneous job, given was "12+"'),
            (["explain", "0_1"], "JOBID: a job id"),
            (["explain", "12_3+1"], "JOBID: a job id"),
            (["explain", "4294967295+1"], "JOBID: a job id"),
            (["status", "-o", "speed"], 'no field "speed"'),
            (["status", "--json", "-P"], "excludes"),
            (["status", "--frmat"], "--frmat"),
        ]:
            with self.subTest(arguments):
                error = self.mlq(*arguments, status=1).stderr
                self.assertTrue(error.startswith("mlq: error: "), error)
                self.assertIn(message, error)
        for arguments, message in [
            ([], "a command is needed: status, "),
            (["nonsense"], 'there is no command "nonsense": status, '),
            (["--nonsense"], 'there is no command "--nonsense": status, '),
            (["\033[31m"], 'there is no command "?[31m"'),
        ]:
            self.assertIn(message, self.mlq(*arguments, url=False, status=1).stderr)
        for arguments in (["status", "--url", "host:1"], ["status", "--url", "http://127.0.0.1:1"]):
            self.assertTrue(self.mlq(*arguments, url=False, status=1).stderr.startswith("mlq: error: "))

    def test_a_replay_that_would_say_nothing_is_refused(self):
        trace = os.path.join(DATA, "worker-speed", "pai-minibatch-job2.csv")
        for arguments, message in [
            (["--trace", "/nonexistent"], "/nonexistent: cannot be read: No such file"),
            (["--trace", "/dev/null"], "/dev/null: is empty"),
            (["--batch", "0"], "--batch"),
            (["--batch", "-1"], "--batch"),
            (["--grain", "0"], "--grain: Value 0 not in range 1 to 1000000000000"),
            (["--batch", "100", "--grain", "101"], "--grain: at most the global batch, 100, is allowed, given was 101"),
            (["--skip", "-1"], "--skip"),
            (["--skip", "239"], "--skip: less than the 239 iterations of the trace is allowed, given was 239"),
            (["--json", "-P"], "excludes"),
        ]:
            with self.subTest(arguments):
                given = arguments if "--trace" in arguments else ["--trace", trace, *arguments]
                self.assertIn(message, self.mlq("balance", *given, url=False, status=1).stderr)

    def test_a_simulation_that_would_not_end_or_not_be_seen_is_refused(self):
        curves = ["--traces", os.path.join(DATA, "loss-curves"), "--only", "cnn-002", "--jobs", "2"]
        for arguments, message in [
            (["--unit", "641"], "--unit 641: no job could start, there are 640 cores of a kind"),
            (["--classes", "4x1,4x1", "--unit", "5"], "--unit 5: no job could start, there are 4 cores of a kind"),
            (["--plot", "x.foo"], "--plot x.foo: the ending must be"),
            (["--plot", "/nonexistent/x.png"], "--plot /nonexistent/x.png: cannot be written: No such file"),
        ]:
            with self.subTest(arguments):
                result = self.mlq("simulate", *curves, *arguments, url=False, status=1)
                self.assertIn(message, result.stderr)
                self.assertEqual(result.stdout, "")

    def test_error_as_json(self):
        result = self.mlq("explain", "99", "--json", status=1)
        answer = json.loads(result.stdout)
        self.assertIn("does not know job 99", answer["errors"][0]["error"])
        self.assertEqual(answer["schema_version"], 1)

    def test_old_knowledge_is_said(self):
        Daemon.cycle_age = 600
        self.addCleanup(setattr, Daemon, "cycle_age", 1)
        result = self.mlq("status")
        self.assertIn("mlq: warning: the scheduler was last heard of 10:00 ago", result.stderr)
        self.assertEqual(len(json.loads(self.mlq("status", "--json").stdout)["warnings"]), 1)

    def test_help_and_version(self):
        self.assertIn("status", self.mlq("--help", url=False).stdout)
        self.assertRegex(self.mlq("--version", url=False).stdout, r"^mlq \(slurm-ml-quality\) \d")

    def test_top(self):
        text = self.mlq("top", "--count", "2", "-i", "0.5").stdout
        self.assertEqual(text.count("1 running, 1 pending"), 2)
        self.assertNotIn("\033", text)


class Watch(unittest.TestCase):
    def test_passes_stdin_on_and_says_that_nothing_is_reported(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MLQ_")}
        result = subprocess.run(
            [MLQ, "watch", "-"], input="step 1 loss 2\nno end", env=environment, capture_output=True, text=True
        )
        self.assertEqual((result.returncode, result.stdout), (0, "step 1 loss 2\nno end"))
        self.assertIn("not inside a job", result.stderr)

    def test_what_is_no_log_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            fifo = os.path.join(folder, "fifo")
            os.mkfifo(fifo)
            for name, what in ((folder, "a folder"), (fifo, "no regular file")):
                result = subprocess.run([MLQ, "watch", "--dry-run", name], capture_output=True, text=True, timeout=60)
                self.assertEqual((result.returncode, result.stdout), (1, ""))
                self.assertEqual(result.stderr, f'mlq: error: {name} is {what}: a log file is needed, or "-" for stdin\n')

    def test_output_that_is_lost_is_said(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MLQ_")}
        with open("/dev/full", "wb") as full:
            result = subprocess.run(
                [MLQ, "watch", "-"], input=b"step 1 loss 2\n", env=environment, stdout=full, stderr=subprocess.PIPE
            )
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr.count(b"mlq: error: standard output cannot be written: No space left"), 1)
        # a reader that had enough is no fault
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as gone:
            result = subprocess.run(
                [MLQ, "watch", "-"], input=b"step 1 loss 2\n", env=environment, stdout=gone, stderr=subprocess.PIPE
            )
        self.assertEqual(result.returncode, 0)
        self.assertNotIn(b"error", result.stderr)

    def test_ends_with_the_process(self):
        log = os.path.join(os.getcwd(), f"watch-{os.getpid()}.log")
        self.addCleanup(os.remove, log)
        script = f"for i in 1 2 3; do echo step $i loss 0.$i; sleep 0.2; done > {log}; printf 'step 4 loss 0.4' >> {log}"
        writer = subprocess.Popen(["sh", "-c", script])
        result = subprocess.run(
            [MLQ, "watch", "--dry-run", "--pid", str(writer.pid), log], capture_output=True, text=True, timeout=60
        )
        writer.wait()
        self.assertEqual(result.stdout, "1 0.1\n2 0.2\n3 0.3\n4 0.4\n")
        gone = subprocess.run(
            [MLQ, "watch", "--dry-run", "--pid", str(writer.pid), log], capture_output=True, text=True, timeout=60
        )
        self.assertEqual(gone.stdout.count("\n"), 4)

    def test_ends_by_a_signal(self):
        watcher = subprocess.Popen(
            [MLQ, "watch", "--dry-run", "/nonexistent/log"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        time.sleep(0.5)
        watcher.terminate()
        self.assertEqual(watcher.communicate(timeout=60), (b"", b""))
        self.assertEqual(watcher.returncode, 0)


if __name__ == "__main__":
    unittest.main()
