#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Submits real trainings that compete for the cores of a Slurm cluster with slurm-ml-quality, shows how they get on,
and checks at the end that each did what it should. Run it with the environment of tools/private-cluster."""
import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import catalogue
import plot
import rows as rows_module
import slurm
import verify
import view
from collector import Collector, CollectorError
from rows import Row

SETTLE_SECONDS = 45   # for slurmdbd to hear of the last job
PATIENCE = 15         # failed looks at Slurm in a row before giving up


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", required=True, help="where the jobs' output goes")
    parser.add_argument("--socket", default=os.environ.get("MLQ_SOCKET"), help="mlqd's Unix socket (default $MLQ_SOCKET)")
    parser.add_argument("--jobs", type=int, default=24, help="how many trainings, %d to %d (default %%(default)s)"
                        % (catalogue.LEAST, catalogue.MOST))
    parser.add_argument("--work", type=float, default=1.0, help="iterations of each, as a multiple of the usual")
    parser.add_argument("--limit", type=float, default=480.0, help="seconds until all must have ended (default %(default)s)")
    parser.add_argument("--plot", metavar="FILE.png", help="draw the loss curves and the cores")
    parser.add_argument("--json", action="store_true", help="the result as JSON on standard output, all else on error")
    args = parser.parse_args()
    if not catalogue.LEAST <= args.jobs <= catalogue.MOST:
        parser.error(f"argument --jobs: got {args.jobs}, allowed are {catalogue.LEAST} to {catalogue.MOST}")
    if not args.socket:
        parser.error("argument --socket: missing, and MLQ_SOCKET is not set")
    return args


class Run:
    """The jobs of one demonstration and what was seen of them."""

    def __init__(self, args, out):
        self.args, self.out = args, out
        name, self.cores = slurm.cluster()
        self.collector = Collector(args.socket, name)
        self.rows, self.ever_ranked = {}, set()
        self.sprio, self.told_apart = "", 0

    def say(self, text=""):
        print(text, file=self.out, flush=True)

    def submit(self):
        trainings = catalogue.trainings(self.args.jobs, self.args.work)
        demand = sum(training.cores for training in trainings)
        self.say(f"submitting {len(trainings)} trainings that ask for {demand} cores; the cluster has {self.cores}:")
        for training in trainings:
            job_id, command = slurm.submit(training, self.args.folder)
            self.rows[job_id] = Row(job_id, training.name)
            self.say(f"  {job_id:>5}  {command}")
        self.say()

    def look(self):
        """One look at Slurm and mlqd. SlurmError, CollectorError."""
        states = slurm.states(self.rows)
        jobs, _ = self.collector.jobs()
        for job_id, row in self.rows.items():
            was_active = row.running or row.pending
            rows_module.update(row, states.get(job_id), jobs.get(job_id))
            if row.running or (was_active and not row.pending):
                rows_module.take_points(row, self.collector.points(job_id))
            if row.rank:
                self.ever_ranked.add(job_id)
        self.keep_priorities()

    def keep_priorities(self):
        """Keeps what sprio says at the moment when it tells the most jobs apart."""
        gains = {row.gain for row in self.rows.values() if row.rank}
        if len(gains) > self.told_apart:
            self.sprio, self.told_apart = slurm.priorities(), len(gains)

    def ended(self):
        return not any(row.running or row.pending for row in self.rows.values())

    def watch(self):
        """Until all jobs ended. TimeoutError past the limit."""
        screen = view.viewer(self.out, self.cores)
        deadline, failures = time.monotonic() + self.args.limit, 0
        try:
            while True:
                try:
                    self.look()
                    failures = 0
                except (slurm.SlurmError, CollectorError):
                    failures += 1
                    if failures >= PATIENCE:
                        raise
                screen.show(list(self.rows.values()))
                if self.ended():
                    return
                if time.monotonic() > deadline:
                    raise TimeoutError(f"not all jobs ended within {self.args.limit:.0f} seconds")
                time.sleep(1.0)
        finally:
            screen.close()

    def check(self):
        """(problems, sacct's rows): looks again until all is well or the time for that is over."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            accounts = slurm.accounting(self.rows)
            problems = []
            for job_id, row in self.rows.items():
                log = Path(self.args.folder, f"{job_id}.log")
                printed = slurm.printed_reports(log) if log.exists() else (0, None, None)
                points = self.collector.points(job_id, 100000)
                rows_module.take_points(row, points)
                problems += verify.problems_of(job_id, row.name, printed, points, accounts.get(job_id))
            if not problems or time.monotonic() > deadline:
                break
            time.sleep(1.0)
        if not self.ever_ranked:
            problems.append("no pending job was ever ranked: does sched/ml_quality run?")
        return problems, accounts

    def report(self, accounts):
        try:
            self.look()
        except (slurm.SlurmError, CollectorError) as error:
            self.say(f"the last look at the jobs failed: {error}")
        unicode_ok = view.speaks_unicode(self.out)
        self.say("\nwhat became of each training:")
        for line in view.table(list(self.rows.values()), unicode_ok):
            self.say(line.rstrip())
        if self.sprio:
            self.say("\nsprio while jobs were waiting (SITE is what the predicted gain per core adds):\n" + self.sprio.rstrip())
        self.say("\nsacct -X -P -o " + ",".join(slurm.SACCT_FIELDS))
        for account in accounts.values():
            self.say("|".join(account[field] for field in slurm.SACCT_FIELDS))

    def plot(self, accounts):
        for job_id, row in self.rows.items():
            account = accounts[job_id]
            row.held = [(float(account["Start"]), float(account["End"]), int(account["AllocCPUS"]))]
        plot.draw(list(self.rows.values()), self.args.plot)
        self.say(f"\nplot: {self.args.plot}")

    def result(self, problems, accounts):
        """What --json prints."""
        jobs = []
        for job_id, row in self.rows.items():
            account = accounts.get(job_id, {})
            jobs.append({"job_id": job_id, "name": row.name, "state": account.get("State"),
                         "elapsed": account.get("Elapsed"), "cores": row.cores, "reports": len(row.curve),
                         "iteration": row.iteration, "loss": row.loss, "fraction": row.fraction,
                         "ranked": job_id in self.ever_ranked,
                         "admin_comment": slurm.comment(account.get("AdminComment", ""))})
        return {"schema_version": 1, "ok": not problems, "problems": problems, "jobs": jobs}


def main():
    args = options()
    out = sys.stderr if args.json else sys.stdout
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        run = Run(args, out)
        run.submit()
        run.watch()
        problems, accounts = run.check()
        run.report(accounts)
        if args.plot:
            run.plot(accounts)
    except (slurm.SlurmError, CollectorError, TimeoutError, OSError, ValueError, subprocess.SubprocessError) as error:
        print(f"quickstart: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if args.json:
        json.dump(run.result(problems, accounts), sys.stdout, indent=1)
        print()
    for problem in problems:
        print(f"quickstart: error: {problem}", file=sys.stderr)
    if problems:
        return 1
    run.say(f"\nall {len(run.rows)} trainings completed; mlqd has every loss they printed, "
            "and each AdminComment its job's last one")
    return 0


if __name__ == "__main__":
    sys.exit(main())
