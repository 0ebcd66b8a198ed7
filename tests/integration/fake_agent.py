#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent of a training that exists on paper only: it follows its target from mlqd as doc/protocol.md says, submits and
cancels companions that sleep, and reports losses as fast as the cores that it holds allow."""
import argparse
import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request

import mlq

parser = argparse.ArgumentParser()
parser.add_argument("--base", type=int, required=True, help="cores of the job itself")
parser.add_argument("--work", type=float, default=1.0, help="core-seconds of an iteration")
parser.add_argument("--half-life", type=float, default=200.0, help="iterations")
parser.add_argument("--iterations", type=int, default=100000)
parser.add_argument("--stubborn", action="store_true", help="never gives anything back")
parser.add_argument("--limit", type=int, default=0, help="refuses to hold more units than this")
args = parser.parse_args()

URL, TOKEN, JOB, CLUSTER = (os.environ[n] for n in ("MLQ_URL", "MLQ_TOKEN", "MLQ_JOB", "MLQ_CLUSTER"))
ENV = {k: v for k, v in os.environ.items() if k == "SLURM_CONF" or not re.match(r"_?(SLURM|SBATCH|ML_QUALITY|MLQ_)", k)}
companions = {}  # id: [units, state]
moves = 0
refused = (None, None)


def say(*words):
    print(f"{time.time():.1f}", *words, flush=True)


def ask(path, body=None):
    request = urllib.request.Request(URL + path, body and json.dumps(body).encode(), {"Authorization": "Bearer " + TOKEN})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        say("mlqd:", error.code, error.read())
    except OSError as error:
        say("mlqd:", error)
    return {}


def run(*command):
    return subprocess.run(list(map(str, command)), env=ENV, capture_output=True, text=True, timeout=30)


def held():
    return args.base + sum(units for units, state in companions.values() if state == "RUNNING")


def look():
    """States of the companions as Slurm has them; those that are over are forgotten."""
    if not companions:
        return
    done = run("squeue", "-h", "-t", "all", "-o", "%A %T", "-j", ",".join(map(str, companions)))
    if done.returncode and "Invalid job id" not in done.stderr:
        return  # slurmctld is away: what is unknown is not over
    rows = dict(row.split() for row in done.stdout.splitlines())
    for job in list(companions):
        state = rows.get(str(job))
        if state in ("PENDING", "RUNNING"):
            companions[job][1] = state
        elif state != "CONFIGURING":
            del companions[job]


def grow(grants, missing):
    global refused
    for grant in grants:
        units = min(grant["units"], missing)
        if units <= 0:
            return
        if args.limit and held() + units > args.limit:
            refused = ("the limit of the test", time.time())
            return
        done = run("sbatch", "--parsable", "-p", grant["partition"], "-N1", "-n1", f"-c{units}", "--nice=1000", "-J", "companion",
                   "-o", "/dev/null", f"--ml-quality=companion={JOB}", "--wrap", "exec sleep 1000")
        if done.returncode:
            refused = (done.stderr.strip()[:200], time.time())
            return
        companions[int(done.stdout.split(";")[0])] = [units, "PENDING"]
        missing -= units


def shrink(target):
    wanted = target["units"]
    order = [j for j in companions if companions[j][1] == "PENDING"]
    order += [j for j in target.get("leave", []) if j in companions]
    order += sorted((j for j in companions if companions[j][1] == "RUNNING"), reverse=True)
    total = args.base + sum(units for units, _ in companions.values())
    for job in order:
        if total <= wanted and job not in target.get("leave", []):
            return
        if job in companions:
            total -= companions.pop(job)[0]
            run("scancel", job)


def follow():
    """True when the size changed."""
    global moves
    before = held()
    look()
    status = ask(f"/v1/jobs/{JOB}?cluster={CLUSTER}&points=0").get("status", {})
    target = status.get("target")
    if target:
        total = args.base + sum(units for units, _ in companions.values())
        if not args.stubborn and (total > target["units"] or set(target.get("leave", [])) & set(companions)):
            shrink(target)
        elif total < target["units"]:
            grow(target.get("grants", []), target["units"] - total)
    if held() != before:
        moves += 1
        say("holds", held(), "of", target and target["units"], target and target["reason"])
        return True
    return False


def tell(phase):
    body = {"v": 1, "time": time.time(), "phase": phase, "generation": moves, "units": held(), "ranks": held(), "moves": moves,
            "companions": [{"job_id": j, "units": u, "state": s} for j, (u, s) in companions.items()],
            "lost_s": 0.1 * moves, "move_s": 0.1}
    if refused[1]:
        body |= {"refused": refused[0], "refused_at": refused[1]}
    ask("/v1/agent", body)


def main():
    job = mlq.attach()
    told = looked = 0
    tell("steady")
    for i in range(args.iterations):
        job.report(i, 0.1 + 2 * 0.5 ** (i / args.half_life))
        until = time.time() + args.work / held()
        while True:
            now = time.time()
            if now - looked >= 1:
                looked = now
                if follow() or now - told >= 5 or (refused[1] or 0) > told:
                    tell("steady")
                    told = now
            if time.time() >= until:
                break
            time.sleep(min(0.05, max(0.0, until - time.time())))
    for companion in companions:
        run("scancel", companion)
    job.close()


sys.exit(main())
