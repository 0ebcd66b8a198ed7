#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""sbatch, squeue and scancel of a cluster that is only a folder: companions run as processes of this machine.

Linked under these names into a folder that is in PATH; what it does is in the folder's `jobs`, one file a job. A file named
`hold` makes jobs wait, `refuse` makes sbatch fail with its text, `slow` makes every command sleep.
"""
import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(sys.argv[0]).absolute().parent
JOBS = HERE / "jobs"


def load():
    return [json.loads(path.read_text()) for path in sorted(JOBS.glob("*.json"))]


def save(job):
    path = JOBS / f"{job['id']}.json"
    path.with_suffix(".new").write_text(json.dumps(job))
    path.with_suffix(".new").rename(path)


def new_number():
    """One that no other sbatch has taken, nor takes at the same moment."""
    for number in itertools.count(1000):
        try:
            os.close(os.open(JOBS / f"{number}.taken", os.O_CREAT | os.O_EXCL))
            return number
        except FileExistsError:
            continue


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def sbatch(arguments):
    if (HERE / "refuse").exists():
        sys.exit((HERE / "refuse").read_text())
    options = dict(a.lstrip("-").partition("=")[::2] for a in arguments)
    number = new_number()
    job = {"id": number, "arguments": arguments, "environment": dict(os.environ), "state": "PENDING", "pid": 0}
    if not (HERE / "hold").exists():
        cores = options.get("cpus-per-task", "1")
        environment = {**os.environ, "SLURM_JOB_ID": str(number), "SLURM_JOB_CPUS_PER_NODE": cores, "SLURM_JOB_NUM_NODES": "1",
                       "SLURMD_NODENAME": f"fake{number}"}
        log = open(HERE / f"job-{number}.log", "wb")
        job["pid"] = subprocess.Popen(["/bin/sh", "-c", options["wrap"]], env=environment, stdin=subprocess.DEVNULL,
                                      stdout=log, stderr=log, cwd=options["chdir"], start_new_session=True).pid
        job["state"] = "RUNNING"
    save(job)
    print(number)


def squeue(arguments):
    options = dict(a.lstrip("-").partition("=")[::2] for a in arguments)
    if "states" not in options:
        print(options["jobs"] + "\t" + (HERE / "parent").read_text())
        return
    wanted = options["jobs"].split(",")
    for job in load():
        if str(job["id"]) not in wanted:
            continue
        if job["state"] == "RUNNING" and not alive(job["pid"]):
            job["state"] = "COMPLETED"
            save(job)
        reason = "Priority" if job["state"] == "PENDING" else "None"
        print(f"{job['id']}\t{job['state']}\t{reason}")


def scancel(arguments):
    for job in load():
        if str(job["id"]) in arguments:
            if job["pid"]:
                try:
                    os.killpg(job["pid"], signal.SIGTERM)
                except ProcessLookupError:
                    pass
            job["state"] = "CANCELLED"
            save(job)


if (HERE / "slow").exists():
    time.sleep(float((HERE / "slow").read_text()))
globals()[pathlib.Path(sys.argv[0]).name](sys.argv[1:])
