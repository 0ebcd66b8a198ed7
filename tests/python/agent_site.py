# SPDX-License-Identifier: GPL-2.0-or-later
"""A site for tests of `mlq run`: an mlqd that answers from memory, and Slurm's commands from fake_slurm.py."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

import waiting  # noqa: E402

MLQ = os.path.join(os.getcwd(), "mlq")
PARENT = "acc\tqos1\t(null)\t1:30:00\tbig|small"
JOB = 77


def wait_until(what, condition, seconds=60):
    """With patience for a machine that does much else."""
    return waiting.wait_until(what, condition, seconds)


def running(*texts):
    """Processes whose command line and environment together hold each of the texts."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            words = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
            if state != "Z" and all(text.encode() in words for text in texts):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


class Site:
    def __init__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="mlq-run-"))
        (self.dir / "jobs").mkdir()
        (self.dir / "parent").write_text(PARENT)
        for name in "sbatch", "squeue", "scancel":
            shutil.copy(HERE / "fake_slurm.py", self.dir / name)
            (self.dir / name).chmod(0o755)
        self.target, self.reports, self.asked, self.silent = None, [], 0, False
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, status, body):
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_GET(self):
                site.asked += 1
                if site.silent or self.headers["Authorization"] != "Bearer token":
                    self.answer(503, {"error": "away"})
                    return
                status = {"target": site.target} if site.target else {}
                self.answer(200, {"v": 1, "job_id": JOB, "request": "resize=companion", "status": status})

            def do_POST(self):
                site.reports.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.answer(200, {})

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # an agent that was killed in the middle of a request
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def environment(self, cores=1, request="resize=companion"):
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("SLURM", "MLQ_J", "MLQ_U", "MLQ_T", "SBATCH"))}
        return {
            **kept, "PATH": f"{self.dir}:{os.environ['PATH']}", "MLQ_URL": f"http://127.0.0.1:{self.server.server_port}",
            "MLQ_TOKEN": "token", "MLQ_CLUSTER": "c", "MLQ_JOB": str(JOB), "SLURM_JOB_ID": str(JOB),
            "SLURM_JOB_NUM_NODES": "1", "SLURM_JOB_CPUS_PER_NODE": str(cores), "SLURM_NTASKS": "1", "SBATCH_QOS": "wrong",
            "SLURM_SPANK__SLURM_SPANK_OPTION_ml_quality_ml_quality": request,
        }  # fmt: skip

    def start(self, *command, cores=1, options=(), more=None, **keywords):
        """mlq run as a process, with its output in pipes."""
        return subprocess.Popen([MLQ, "run", "--address", "127.0.0.1", *options, "--", *map(str, command)], text=True,
                                cwd=self.dir, env={**self.environment(cores), **(more or {})},
                                **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **keywords})

    def want(self, units, grants=(), base=1, lead=20):
        self.target = {"units": units, "base": base, "lead": lead, "reason": "test",
                       "grants": [{"partition": "p", "units": k} for k in grants]}

    def jobs(self):
        return [json.loads(path.read_text()) for path in sorted((self.dir / "jobs").glob("*.json"))]

    def report(self):
        return self.reports[-1] if self.reports else {}

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        for job in self.jobs():
            if job["pid"]:
                try:
                    os.killpg(job["pid"], 9)
                except ProcessLookupError:
                    pass
        shutil.rmtree(self.dir, ignore_errors=True)


PYTHON = sys.executable
