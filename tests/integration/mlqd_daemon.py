# SPDX-License-Identifier: GPL-2.0-or-later
"""An mlqd on loopback in a folder of its own, its tokens, and what is in its store.

Needs an installed tree (MLQ_STAGE, default build/stage) or MLQD, the program.
"""
import base64
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from unix_http import UnixConnection  # noqa: E402

STAGE = pathlib.Path(os.environ.get("MLQ_STAGE", ROOT / "build/stage"))
MLQD = os.environ.get("MLQD", str(STAGE / "sbin/mlqd"))
SLACK = 30  # seconds; a bound, not a measure


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


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
