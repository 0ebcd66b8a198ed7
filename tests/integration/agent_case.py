# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of mlq run on a private Slurm share: the targets are said in the scheduler's place."""
import json
import pathlib
import time

from cluster import STAGE, TERMINAL, ClusterTest, UnixConnection, wait_until

PYTHON = "/usr/bin/python3"
PACKAGE = STAGE / "lib/python3/dist-packages"
WORKER = """
import mlq.elastic, os, sys, time
agent = mlq.elastic.Agent()
place = agent.first_place()
while place is not None:
    print(f"generation {place.generation} rank {place.rank} of {place.world}", flush=True)
    agent.formed()
    while not agent.due():
        if os.path.exists(sys.argv[1] + "/finish"):
            sys.exit(0)
        time.sleep(0.05)
    place = agent.place(agent.due())
"""


def processes(mark):
    """Ids of the processes whose environment holds the mark."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


class AgentCase(ClusterTest):
    def setUp(self):
        super().setUp()
        self.folder = self.c.work / f"t-{time.monotonic_ns()}"
        self.folder.mkdir(mode=0o777)
        self.mark = f"MLQ_TEST_MARK={self.folder.name}"

    # --- in the scheduler's place -----------------------------------------------------
    def want(self, job, units, grants=(), lead=20, base=1):
        """Tells mlqd the job's target, as the scheduler does."""
        submitted = self.submits[job]
        target = {"units": units, "base": base, "held": base, "lead": lead, "since": time.time(), "reason": "the test says so",
                  "grants": [{"partition": p, "units": k} for p, k in grants]}
        body = {"v": 1, "cluster": self.c.setting("cluster_name"), "time": time.time(), "mode": "active", "weight": 1, "horizon": 60,
                "interval": 3, "stats": {}, "families": [],
                "jobs": [{"job_id": job, "submit": submitted, "restarts": 0, "uid": 0, "user": "root", "account": "root",
                          "partition": "fast", "name": "t", "family": "root/t", "request": "resize=companion", "state": "RUNNING",
                          "ended": False, "start": submitted, "end": 0, "cores": 1, "status": {"target": target}}]}
        connection = UnixConnection(self.c.store_socket)
        connection.request("POST", "/v1/cycle", json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        self.assertEqual(answer.status, 200, text)

    def agent(self, job):
        try:
            return self.c.quality(job).get("agent") or {}
        except (AssertionError, OSError):
            return {}

    def steady(self, job, ranks, seconds=60):
        def so():
            state = self.agent(job)
            return (state.get("phase"), state.get("ranks"), state.get("units")) == ("steady", ranks, ranks)
        wait_until(f"job {job} trains with {ranks} ranks", so, seconds)

    # --- jobs ------------------------------------------------------------------------------
    submits = {}

    def start(self, *command, options=(), run=()):
        script = (f"export {self.mark} PYTHONPATH={PACKAGE} OMP_NUM_THREADS=1\n"
                  f"exec {STAGE}/bin/mlq run {' '.join(run)} -- {' '.join(map(str, command))}")
        job = self.c.submit("--ml-quality=resize=companion,max=8", "-p", "fast", "-n1", "-c1", *options, script=script)
        self.c.wait_state(job, "RUNNING")
        text = self.c.show(job)["SubmitTime"]
        self.submits[job] = int(time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S")))
        return job

    def start_worker(self, **options):
        path = self.folder / "worker.py"
        path.write_text(WORKER)
        job = self.start(PYTHON, path, self.folder, **options)
        self.steady(job, 1)
        return job

    def grown(self, **options):
        job = self.start_worker(**options)
        self.want(job, 3, [("fast", 1), ("slow", 1)])
        self.steady(job, 3)
        return job, sorted(self.companions(job))

    def companions(self, job):
        names = self.c.jobs("%j|%T|%N")
        return {i: row.split("|")[1:] for i, row in names.items() if row.startswith(f"mlq-companion-of-{job}|")}

    def assert_ends_with(self, companion, parent):
        """It asked for what was left of its parent's time when it was submitted, in whole minutes, which is all of it in the
        second of the parent's start."""
        end, submitted = (time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))
                          for text in (self.c.show(parent)["EndTime"], self.c.show(companion)["SubmitTime"]))
        hours, minutes, seconds = map(int, self.c.show(companion)["TimeLimit"].split(":"))
        early = end - submitted - (hours * 3600 + minutes * 60 + seconds)
        self.assertGreater(early, -30)  # what was left is asked for some moments before
        self.assertLess(early, 60)

    def left(self, job):
        """Companions that have not ended, and processes of the training."""
        alive = [i for i, (state, _) in self.companions(job).items() if state not in TERMINAL]
        return alive or processes(self.mark)

    def nothing_left(self, job, seconds=30):
        began = time.monotonic()
        wait_until("nothing of the training is left", lambda: not self.left(job), seconds)
        print(f"    nothing left after {time.monotonic() - began:.1f} s", flush=True)

    def finish(self, job):
        (self.folder / "finish").touch()
        self.c.wait_state(job, TERMINAL)
        self.assertEqual(self.c.state(job), "COMPLETED")
