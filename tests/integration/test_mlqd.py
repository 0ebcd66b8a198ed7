#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""mlqd from outside: every status, who may do what, starts that fail, new keys, a clean end."""
import json
import os
import pathlib
import signal
import socket
import sqlite3
import subprocess
import time
import unittest

from mlqd_daemon import MLQD, SLACK, WithDaemon, body, points


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
        # a clock that is wrong may be set right: by 401 jobs would take no reports meanwhile
        answer = self.refused(503, "in the future", post(d.token(iat=now + 1000, exp=now + 2000)))
        self.assertEqual(answer[2]["Retry-After"], "60")
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

    def test_agents(self):
        d = self.mlqd
        agent = {"v": 1, "time": time.time(), "phase": "growing", "generation": 1, "units": 3, "ranks": 3,
                 "companions": [{"job_id": 12, "units": 2, "state": "RUNNING"}], "moves": 1, "lost_s": 2.5, "move_s": 2.5}
        post = lambda token=d.token(), **more: d.tcp("POST", "/v1/agent", json.dumps({**agent, **more}), token)
        self.refused(401, "token is needed", post(None))
        self.refused(403, "only the agent of a job", post(d.token(role="scheduler", job=None)))
        self.refused(403, "token is of job 8", post(d.token(job=8), job_id=7))
        self.refused(400, 'companions[0].state is a string', post(companions=[{"job_id": 1, "units": 1, "state": "x"}]))
        self.refused(413, "at most 65536 are allowed", post(x="y" * 65536))
        self.assertNotIn("agent", d.local("GET", "/v1/jobs?cluster=c")[1]["jobs"])
        before = time.time()
        self.assertEqual(post()[0], 200)
        for again in range(2):
            told = d.tcp("GET", "/v1/jobs/7?cluster=c&points=0", token=d.token())[1]
            self.assertEqual(told["points"], [])
            self.assertEqual({k: told["agent"][k] for k in ("phase", "units", "companions", "move_s")},
                             {k: agent[k] for k in ("phase", "units", "companions", "move_s")})
            self.assertTrue(before <= told["agent"]["received"] <= time.time())
            page = d.local("GET", "/v1/points?cluster=c&after=0")[1]
            self.assertEqual([(a["job_id"], a["submit"], a["units"]) for a in page["agents"]], [(7, 0, 3)])
            self.assertEqual(d.local("GET", f"/v1/points?cluster=c&after={page['next']}")[1]["agents"], [])
            if not again:  # it survives
                self.assertEqual(d.end(), 0)
                d.start()
        self.assertEqual(post(phase="steady", companions=[])[0], 200)
        page = d.local("GET", f"/v1/points?cluster=c&after={page['next']}")[1]
        self.assertEqual([a["phase"] for a in page["agents"]], ["steady"])

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

    def test_configuration_file_that_is_wrong(self):
        config = pathlib.Path(self.mlqd.dir, "wrong.conf")
        for line, message in (
            ("bogus = 1", 'mlqd: error: --config: there is no option "bogus" that a file may set'),
            ("rate = nan", 'mlqd: error: --rate: a number from 0.1 to 1000000000 is allowed, given was "nan"'),
            ("help = true", "mlqd: error: help: This option is not allowed in a configuration file"),
        ):
            config.write_text(line + "\n", encoding="utf-8")
            command = [*self.mlqd.arguments(), "--config", str(config)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=SLACK)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(message, done.stderr)

    def test_key_is_read_anew(self):
        d = self.mlqd
        old = d.token()
        self.assertEqual(d.report(old, "s", 0, 0)[0], 200)  # it is remembered as a good one
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


if __name__ == "__main__":
    unittest.main()
