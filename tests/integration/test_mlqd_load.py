#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""mlqd under load: what is there after kill -9, idle crowds, a fast reporter, a stopped daemon, a full disk."""
import concurrent.futures
import http.client
import json
import os
import re
import resource
import signal
import socket
import subprocess
import threading
import time
import unittest

from mlqd_daemon import SLACK, Daemon, UnixConnection, WithDaemon, body


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

    @staticmethod
    def connected(mlqd):
        text = mlqd.local("GET", "/metrics")[1]
        return float(re.search(r'connections{listener="jobs"} (\S+)', text)[1])

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
            until = time.monotonic() + SLACK
            while self.connected(mlqd) < size and time.monotonic() < until:
                time.sleep(0.1)
            if "limit of open files" not in mlqd.read_log():
                self.assertGreaterEqual(self.connected(mlqd), size)
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

    def test_crowd_of_another_user_on_the_socket(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        mlqd = Daemon()
        self.addCleanup(mlqd.close)
        os.chmod(mlqd.dir, 0o755)
        script = ("import socket,sys\ncrowd=[]\nfor _ in range(900):\n one=socket.socket(socket.AF_UNIX)\n"
                  " one.connect(sys.argv[1])\n crowd.append(one)\nprint('there',flush=True)\nsys.stdin.read()")
        with subprocess.Popen(["/usr/bin/python3", "-c", script, f"{mlqd.dir}/sock"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, user=65534, group=65534) as other:
            self.assertEqual(other.stdout.readline(), "there\n")
            self.served(mlqd, 10)
            text = mlqd.local("GET", "/metrics")[1]
            self.assertLess(float(re.search(r'connections{listener="local"} (\S+)', text)[1]), 300)
            other.communicate(timeout=SLACK)

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


class Agents(WithDaemon):
    options = ("--request-rate", "1e6", "--request-burst", "1e6")
    JOBS = 6

    def push(self, now, units):
        jobs = [{"job_id": job, "submit": now - 5, "uid": 1000, "restarts": 0, "ended": False, "state": "RUNNING",
                 "status": {"target": {"units": units, "base": 1}}} for job in range(1, self.JOBS + 1)]
        answer = self.mlqd.local("POST", "/v1/cycle", json.dumps({"v": 1, "cluster": "c", "time": now, "jobs": jobs}))
        self.assertEqual(answer[0], 200, answer)

    def units(self, connection, job, token):
        status, answer, _ = self.mlqd.ask(connection, "GET", f"/v1/jobs/{job}?points=0&only=target", token=token)
        self.assertEqual((status, answer["job_id"]), (200, job), answer)
        return answer["status"]["target"]["units"]

    def test_no_agent_sees_an_old_target_after_a_new_one(self):
        """Two agents of each job ask without pause while it reports and its target changes."""
        now = int(time.time())
        self.push(now, 1)
        done = threading.Event()

        def follow(job):
            seen, token, connection = [], self.mlqd.token(job), self.mlqd.connect()
            until = time.monotonic() + 4 * SLACK
            while time.monotonic() < until:
                last = done.is_set()
                seen.append(self.units(connection, job, token))
                if last:
                    break
            connection.close()
            return seen

        reporters = run_reporters(self.mlqd, 2)
        with concurrent.futures.ThreadPoolExecutor(2 * self.JOBS) as pool:
            followers = [pool.submit(follow, 1 + i % self.JOBS) for i in range(2 * self.JOBS)]
            token, connection = self.mlqd.token(1), self.mlqd.connect()
            for units in range(2, 102):
                self.push(now, units)
                self.assertEqual(self.units(connection, 1, token), units)  # at once when the push is answered
            connection.close()
            done.set()
            for follower in followers:
                seen = follower.result()
                self.assertEqual(seen, sorted(seen))
                self.assertEqual(seen[-1], 101)
        stop_reporters(reporters)


if __name__ == "__main__":
    unittest.main()
