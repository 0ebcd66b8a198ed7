#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""mlqd from outside: every status, what is there after kill -9, idle crowds, a stopped daemon, a full disk.

Needs an installed tree (MLQ_STAGE, default build/stage) or MLQD, the program. Loopback and a folder of its own only.
"""
import base64
import concurrent.futures
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STAGE = pathlib.Path(os.environ.get("MLQ_STAGE", ROOT / "build/stage"))
MLQD = os.environ.get("MLQD", str(STAGE / "sbin/mlqd"))
SLACK = 30  # seconds; a bound, not a measure


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def points(first, last, loss=0.5):
    return [{"n": n, "i": n, "l": loss, "t": time.time()} for n in range(first, last + 1)]


def body(stream, first, last):
    return json.dumps({"v": 1, "stream": stream, "points": points(first, last)})


class Daemon:
    def __init__(self, *options, **popen):
        self.dir = tempfile.mkdtemp(prefix="mlqd-")
        self.key = os.path.join(self.dir, "key")
        subprocess.run([MLQD, "--make-key", self.key], check=True)
        self.port = free_port()
        self.process = None
        self.start(*options, **popen)

    def arguments(self, **other):
        options = {"key": self.key, "store": f"{self.dir}/db", "socket": f"{self.dir}/sock",
                   "listen": f"127.0.0.1:{self.port}", **other}
        return [MLQD, *(f"--{name}={value}" for name, value in options.items())]

    def start(self, *options, **popen):
        self.log = open(f"{self.dir}/log", "a", encoding="utf-8")
        self.process = subprocess.Popen([*self.arguments(), *options], stderr=self.log, **popen)
        self.log.close()
        until = time.monotonic() + SLACK
        while time.monotonic() < until and self.process.poll() is None:
            try:
                if self.local("GET", "/v1/health")[0] == 200:
                    return
            except OSError:
                time.sleep(0.02)
        raise RuntimeError(self.read_log())

    def read_log(self):
        return pathlib.Path(self.dir, "log").read_text(encoding="utf-8")

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(SLACK)

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.end(signal.SIGKILL)
        shutil.rmtree(self.dir)

    def token(self, job=7, key=None, algorithm="HS256", **claims):
        now = int(time.time())
        payload = {"cluster": "c", "job": job, "uid": 1000, "restarts": 0, "iat": now, "exp": now + 600, **claims}
        payload = {k: v for k, v in payload.items() if v is not None}
        text = b64(json.dumps({"alg": algorithm, "typ": "JWT"}).encode()) + b"." + b64(json.dumps(payload).encode())
        secret = key or pathlib.Path(self.key).read_bytes()
        sign = b64(hmac.new(secret, text, hashlib.sha256).digest()) if algorithm != "none" else b""
        return (text + b"." + sign).decode()

    def connect(self, timeout=SLACK):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    @staticmethod
    def ask(connection, method, path, data=None, token=None, headers=None):
        headers = dict(headers or {})
        if token is not None:
            headers["Authorization"] = "Bearer " + token
        connection.request(method, path, data, headers)
        answer = connection.getresponse()
        text = answer.read()
        kind = answer.headers.get("Content-Type", "")
        return answer.status, json.loads(text) if kind == "application/json" else text.decode(), answer.headers

    def tcp(self, method, path, data=None, token=None, **more):
        connection = self.connect()
        try:
            return self.ask(connection, method, path, data, token, **more)
        finally:
            connection.close()

    def local(self, method, path, data=None, **more):
        connection = UnixConnection(f"{self.dir}/sock", SLACK)
        try:
            return self.ask(connection, method, path, data, **more)
        finally:
            connection.close()

    def report(self, token, stream, first, last):
        return self.tcp("POST", "/v1/reports", body(stream, first, last), token)

    def stored(self, sql="SELECT count(*) FROM point"):
        return self.row(sql)[0]

    def row(self, sql, *values):
        database = sqlite3.connect(f"{self.dir}/db")
        try:
            return database.execute(sql, values).fetchone()
        finally:
            database.close()


class WithDaemon(unittest.TestCase):
    options = ()

    def setUp(self):
        self.mlqd = Daemon(*self.options)
        self.addCleanup(self.mlqd.close)


class Answers(WithDaemon):
    def refused(self, status, text, answer):
        self.assertEqual(answer[0], status, answer)
        self.assertIn(text, answer[1]["error"])
        return answer

    def test_tokens(self):
        d = self.mlqd
        post = lambda token: d.tcp("POST", "/v1/reports", body("s", 0, 0), token)
        answer = self.refused(401, "token is needed", post(None))
        self.assertEqual(answer[2]["WWW-Authenticate"], "Bearer")
        self.refused(401, "not a JWT", post("nonsense"))
        self.refused(401, "not signed with this site's key", post(d.token(key=b"x" * 64)))
        self.refused(401, "not signed with HS256", post(d.token(algorithm="none")))
        now = int(time.time())
        self.refused(401, "expired", post(d.token(iat=now - 100, exp=now - 1)))
        self.refused(401, "in the future", post(d.token(iat=now + 1000, exp=now + 2000)))
        self.refused(401, "claim job is missing", post(d.token(job=None)))
        self.refused(403, "only jobs report", post(d.token(role="scheduler", job=None)))
        self.refused(403, "token is of job 7", d.tcp("GET", "/v1/jobs/8", token=d.token()))
        self.refused(403, "a scheduler's is needed", d.tcp("POST", "/v1/cycle", "{}", d.token()))
        self.refused(401, "scheduler's token", d.tcp("GET", "/v1/points?cluster=c"))
        self.assertEqual(post(d.token())[:2], (200, {"stored": 1, "dropped": 0}))
        self.assertEqual(d.stored(), 1)
        self.assertNotIn("eyJ", d.read_log())

    def test_malformed(self):
        d = self.mlqd
        token = d.token()
        post = lambda text: d.tcp("POST", "/v1/reports", text, token)
        self.refused(400, "line 1", post("{"))
        self.refused(400, "not JSON", post(b"\xff\xfe"))
        self.refused(400, "body is not JSON", post(""))
        bad = json.dumps({"v": 1, "stream": "s", "points": points(0, 1) + [{"n": 2, "i": 2, "l": "0.5", "t": 1}]})
        self.refused(400, "points[2].l is a string", post(bad))
        self.refused(400, "not JSON", post('{"v":1,"stream":"s","points":[{"n":0,"i":0,"l":NaN,"t":1}]}'))
        self.refused(400, "body is an array", post("[" * 100 + "]" * 100))
        self.refused(400, "not JSON", post("[" * 100000))
        self.assertEqual(d.stored(), 0)

    def test_sizes(self):
        d = self.mlqd
        large = json.dumps({"v": 1, "stream": "s", "points": [], "x": "y" * (1 << 20)})
        self.refused(413, "at most 1048576 are allowed", d.tcp("POST", "/v1/reports", large, d.token()))
        chunked = d.tcp("POST", "/v1/reports", iter([large.encode()]), d.token())
        self.refused(413, "longer than", chunked)
        for text, status in ((large[:1 << 20], 400), ("{" + " " * ((1 << 20) - 2) + "}", 400)):
            self.assertEqual(d.tcp("POST", "/v1/reports", text, d.token())[0], status)
        # far more announced: answered at once, nothing is read
        with socket.create_connection(("127.0.0.1", d.port), SLACK) as plain:
            plain.sendall(b"POST /v1/reports HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                          b"Content-Length: 99999999999\r\n\r\n" % d.token().encode())
            self.assertIn(b" 413 ", plain.recv(100))
        with socket.create_connection(("127.0.0.1", d.port), SLACK) as plain:
            plain.sendall(b"POST /v1/reports HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 100000 + b"\r\n\r\n")
            self.assertRegex(plain.recv(100), rb" (413|431|414) ")

    def test_paths(self):
        d = self.mlqd
        self.assertEqual(d.tcp("GET", "/")[0], 404)
        self.assertEqual(d.tcp("GET", "/v1/jobs/0")[0], 404)
        status, _, headers = d.tcp("PUT", "/v1/reports", "x")
        self.assertEqual((status, headers["Allow"]), (405, "POST"))
        self.assertEqual(d.local("GET", "/v1/jobs/9?cluster=c")[0], 404)
        self.assertEqual(d.tcp("GET", "/v1/health")[1]["status"], "ok")
        status, text, headers = d.tcp("GET", "/metrics")
        self.assertTrue(text.endswith("# EOF\n"))
        self.assertIn("openmetrics", headers["Content-Type"])
        self.assertIn('slurm_mlq_requests_total{code="405"} 1\n', text)

    def test_socket_of_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        d = self.mlqd
        os.chmod(d.dir, 0o755)
        script = ("import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n"
                  "s.sendall(b'GET '+sys.argv[2].encode()+b' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')\nprint(s.recv(64)[9:12].decode())")
        ask = lambda path: subprocess.run(["/usr/bin/python3", "-c", script, f"{d.dir}/sock", path], capture_output=True,
                                          text=True, user=65534, group=65534, timeout=SLACK, check=True).stdout.strip()
        self.assertEqual(ask("/v1/points?cluster=c"), "403")
        self.assertEqual(ask("/v1/jobs?cluster=c"), "200")
        self.assertEqual(d.local("GET", "/v1/points?cluster=c")[0], 200)

    def test_whole_way(self):
        d = self.mlqd
        now = int(time.time())
        self.assertEqual(d.report(d.token(), "s", 0, 4)[0], 200)
        cycle = {"v": 1, "cluster": "c", "time": now, "mode": "active", "families": [{"name": "f", "runs": 1}],
                 "jobs": [{"job_id": 7, "submit": now - 5, "uid": 1000, "restarts": 0, "ended": False,
                           "state": "RUNNING", "user": "ann", "status": {"rank": 1}}]}
        self.assertEqual(d.local("POST", "/v1/cycle", json.dumps(cycle))[:2], (200, {"jobs": 1}))
        self.assertEqual(d.report(d.token(), "s", 3, 9)[1], {"stored": 5, "dropped": 2})
        page = d.local("GET", "/v1/points?cluster=c&after=0&max=4")[1]
        self.assertEqual((page["next"], page["more"], [p[:4] for p in page["points"]]),
                         (4, True, [[n + 1, 7, now - 5, n] for n in range(4)]))
        page = d.tcp("GET", "/v1/points?cluster=c&after=4", token=d.token(role="scheduler", job=None))[1]
        self.assertEqual((page["next"], page["more"], len(page["points"])), (10, False, 6))
        self.assertEqual(d.local("GET", "/v1/families?cluster=c")[1]["families"], [{"name": "f", "runs": 1}])
        job = d.tcp("GET", "/v1/jobs/7?points=2", token=d.token())[1]
        self.assertEqual((job["status"], job["stored"], [p[0] for p in job["points"]]), ({"rank": 1}, 10, [8, 9]))
        self.assertEqual([j["job_id"] for j in d.local("GET", "/v1/jobs")[1]["jobs"]], [7])


class Starts(WithDaemon):
    def fails(self, *options, **other):
        done = subprocess.run([*self.mlqd.arguments(**other), *options], capture_output=True, text=True, timeout=SLACK)
        self.assertEqual(done.returncode, 1, done)
        return done.stderr

    def test_errors(self):
        d = self.mlqd
        other = {"store": f"{d.dir}/db2", "socket": f"{d.dir}/sock2"}
        self.assertIn("in use by another mlqd", self.fails())
        self.assertIn(f"127.0.0.1:{d.port}: Address already in use", self.fails(**other))
        self.assertIn("another process listens there", self.fails(store=f"{d.dir}/db2"))
        self.assertIn(f"{d.dir}/none: No such file", self.fails(**other, key=f"{d.dir}/none"))
        short = pathlib.Path(d.dir, "short")
        short.write_bytes(b"x" * 31)
        short.chmod(0o600)
        self.assertIn("31 bytes, 32 to 1024 are allowed", self.fails(**other, key=short))
        short.write_bytes(b"x" * 32)
        short.chmod(0o644)
        self.assertIn("mode 0644", self.fails(**other, key=short))
        self.assertIn("is no user", self.fails("--admin-user", "nobody-of-that-name", **other))
        database = sqlite3.connect(f"{d.dir}/db3")
        database.execute("CREATE TABLE t(x)")
        database.close()
        self.assertIn("another program's", self.fails(store=f"{d.dir}/db3"))
        self.assertEqual(d.local("GET", "/v1/health")[0], 200)

    def test_key_is_read_anew(self):
        d = self.mlqd
        old = d.token()
        os.rename(d.key, d.key + ".old")
        subprocess.run([MLQD, "--make-key", d.key], check=True)
        d.process.send_signal(signal.SIGHUP)
        until = time.monotonic() + SLACK
        while d.report(d.token(), "s", 0, 0)[0] == 401 and time.monotonic() < until:
            time.sleep(0.05)
        self.assertEqual(d.report(d.token(), "s", 1, 1)[0], 200)
        self.assertEqual(d.report(old, "s", 2, 2)[0], 401)
        os.unlink(d.key)
        d.process.send_signal(signal.SIGHUP)
        while "stays as it was" not in d.read_log() and time.monotonic() < until:
            time.sleep(0.05)
        os.rename(d.key + ".old", d.key + ".2")
        d.end()
        subprocess.run([MLQD, "--make-key", d.key], check=True)
        d.start("--accept-key", d.key + ".2")
        self.assertEqual(d.report(old, "s", 3, 3)[0], 200)

    def test_clean_end(self):
        d = self.mlqd
        self.assertEqual(d.report(d.token(), "s", 0, 99)[0], 200)
        self.assertEqual(d.end(signal.SIGINT), 0)
        self.assertFalse(os.path.exists(f"{d.dir}/sock"))
        self.assertFalse(os.path.exists(f"{d.dir}/db-wal"))
        self.assertEqual(d.stored(), 100)


class Reporter(threading.Thread):
    """Reports without pause until told to stop; tries each report again until it is acknowledged."""

    def __init__(self, mlqd, job):
        super().__init__(daemon=True)
        self.mlqd, self.job, self.acknowledged, self.repeated, self.stop = mlqd, job, 0, 0, False

    def run(self):
        token, connection = self.mlqd.token(self.job), None
        until = time.monotonic() + 4 * SLACK
        while not self.stop and time.monotonic() < until:
            data = body("s", self.acknowledged, self.acknowledged + 9)
            try:
                connection = connection or self.mlqd.connect(5)
                status, answer, _ = self.mlqd.ask(connection, "POST", "/v1/reports", data, token)
            except (OSError, http.client.HTTPException):
                if connection:
                    connection.close()
                connection = None
                time.sleep(0.01)
                continue
            if status == 200:
                self.acknowledged += answer["stored"] + answer["dropped"]
                self.repeated += answer["dropped"]
            else:
                time.sleep(0.05)
        if connection:
            connection.close()


def run_reporters(mlqd, count):
    reporters = [Reporter(mlqd, job) for job in range(1, count + 1)]
    for reporter in reporters:
        reporter.start()
    return reporters


def wait_for_progress(case, reporters, more):
    targets = [reporter.acknowledged + more for reporter in reporters]
    until = time.monotonic() + 2 * SLACK
    while any(r.acknowledged < t for r, t in zip(reporters, targets)):
        case.assertLess(time.monotonic(), until, "no progress")
        time.sleep(0.02)


def stop_reporters(reporters):
    for reporter in reporters:
        reporter.stop = True
    for reporter in reporters:
        reporter.join(2 * SLACK)


class Crashes(WithDaemon):
    options = ("--rate", "1e6", "--burst", "1e6", "--request-rate", "1e6", "--request-burst", "1e6")

    def exact(self, reporters):
        for reporter in reporters:
            count, distinct, last = self.mlqd.row(
                "SELECT count(*), count(DISTINCT iteration), max(iteration) FROM point WHERE job="
                "(SELECT id FROM job WHERE job_id=?)", reporter.job)
            # what was acknowledged is there, once; more only from a request whose answer was lost
            self.assertEqual((count, distinct), (last + 1, last + 1))
            self.assertIn(count - reporter.acknowledged, (0, 10))

    def test_kill_9(self):
        reporters = run_reporters(self.mlqd, 6)
        for _ in range(4):
            wait_for_progress(self, reporters, 200)
            self.mlqd.end(signal.SIGKILL)
            self.mlqd.start(*self.options)
        wait_for_progress(self, reporters, 200)
        stop_reporters(reporters)
        self.mlqd.end(signal.SIGKILL)
        self.exact(reporters)

    def test_stop_and_continue(self):
        reporters = run_reporters(self.mlqd, 4)
        wait_for_progress(self, reporters, 100)
        self.mlqd.process.send_signal(signal.SIGSTOP)
        time.sleep(1)
        before = [r.acknowledged for r in reporters]
        connection = UnixConnection(f"{self.mlqd.dir}/sock", 0.2)
        with self.assertRaises(OSError):
            self.mlqd.ask(connection, "GET", "/v1/health")
        connection.close()
        self.assertEqual(before, [r.acknowledged for r in reporters])
        self.mlqd.process.send_signal(signal.SIGCONT)
        wait_for_progress(self, reporters, 200)
        stop_reporters(reporters)
        self.assertEqual(self.mlqd.end(), 0)
        self.exact(reporters)

    def test_terminated_under_load(self):
        reporters = run_reporters(self.mlqd, 6)
        wait_for_progress(self, reporters, 200)
        self.assertEqual(self.mlqd.end(), 0)
        self.mlqd.start(*self.options)
        wait_for_progress(self, reporters, 100)
        stop_reporters(reporters)
        self.assertEqual(self.mlqd.end(), 0)
        self.exact(reporters)

    def test_full_disk(self):
        d = self.mlqd
        token = d.token()
        self.assertEqual(d.report(token, "s", 0, 999)[0], 200)
        used = max(os.path.getsize(f"{d.dir}/db"), os.path.getsize(f"{d.dir}/db-wal"))
        resource.prlimit(d.process.pid, resource.RLIMIT_FSIZE, (used + 8192, resource.RLIM_INFINITY))
        acknowledged = 1000
        for _ in range(50):
            status, answer, headers = d.report(token, "s", acknowledged, acknowledged + 999)
            if status != 200:
                break
            acknowledged += 1000
        self.assertEqual(status, 503, answer)
        self.assertGreaterEqual(int(headers["Retry-After"]), 1)
        self.assertEqual(d.tcp("GET", "/v1/health")[0], 503)
        self.assertEqual(d.local("GET", "/v1/jobs/7?cluster=c")[1]["stored"], acknowledged)
        resource.prlimit(d.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        self.assertEqual(d.report(token, "s", acknowledged, acknowledged + 999)[0], 200)
        self.assertEqual(d.tcp("GET", "/v1/health")[0], 200)
        d.end(signal.SIGKILL)
        self.assertEqual(d.stored(), acknowledged + 1000)


class Crowds(unittest.TestCase):
    def idle(self, port, count):
        crowd = []
        for _ in range(count):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
            crowd.append(one)
        return crowd

    def crowd_size(self, wanted):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        return min(wanted, hard - 200)

    def served(self, mlqd, rounds):
        for n in range(rounds):
            self.assertEqual(mlqd.report(mlqd.token(), "s", n, n)[0], 200)
            self.assertEqual(mlqd.local("GET", "/v1/points?cluster=c")[0], 200)

    def test_ten_thousand_idle_connections(self):
        size = self.crowd_size(10000)
        mlqd = Daemon()
        self.addCleanup(mlqd.close)
        crowd = self.idle(mlqd.port, size)
        try:
            self.served(mlqd, 20)
        finally:
            for one in crowd:
                one.close()

    def test_more_idle_connections_than_there_is_room(self):
        mlqd = Daemon("--connections", "200")
        self.addCleanup(mlqd.close)
        crowd = self.idle(mlqd.port, min(2000, self.crowd_size(2000)))
        try:
            self.served(mlqd, 20)
        finally:
            for one in crowd:
                one.close()

    def test_half_sent_requests(self):
        mlqd = Daemon("--connections", "200")
        self.addCleanup(mlqd.close)
        crowd = [socket.create_connection(("127.0.0.1", mlqd.port), SLACK) for _ in range(500)]
        try:
            for n, one in enumerate(crowd):
                text = (b"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{" if n % 2 else
                        b"GET /v1/health HTT")
                try:
                    one.sendall(text)
                except OSError:
                    pass  # this one had to go already
            self.served(mlqd, 10)
        finally:
            for one in crowd:
                one.close()

    def test_silent_ones_are_closed(self):
        mlqd = Daemon("--idle-timeout", "1")
        self.addCleanup(mlqd.close)
        with socket.create_connection(("127.0.0.1", mlqd.port), SLACK) as one:
            self.assertEqual(one.recv(1), b"")

    def test_fast_reporter(self):
        mlqd = Daemon("--rate", "100", "--burst", "200", "--request-rate", "1000", "--request-burst", "1000")
        self.addCleanup(mlqd.close)
        fast, slow = mlqd.token(1), mlqd.token(2)
        statuses = []

        def hammer(worker):
            until = time.monotonic() + 3
            n = 0
            connection = mlqd.connect()
            while time.monotonic() < until:
                answer = mlqd.ask(connection, "POST", "/v1/reports", body(f"s{worker}", n, n + 99), fast)
                statuses.append(answer[0])
                if answer[0] == 429:
                    self.assertGreaterEqual(int(answer[2]["Retry-After"]), 1)
                n += 100
            connection.close()

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            workers = [pool.submit(hammer, worker) for worker in range(4)]
            for n in range(20):
                self.assertEqual(mlqd.report(slow, "s", n, n)[0], 200)
                time.sleep(0.1)
            for worker in workers:
                worker.result()
        self.assertEqual(set(statuses), {200, 429})
        stored = mlqd.stored("SELECT points FROM job WHERE job_id=1")
        self.assertEqual(stored, 100 * statuses.count(200))
        self.assertLess(stored, 200 + 4 * 100 + 10 * 100)


if __name__ == "__main__":
    unittest.main()
