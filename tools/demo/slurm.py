# SPDX-License-Identifier: GPL-2.0-or-later
"""The few Slurm commands that the demonstration runs."""
import json
import os
import re
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


class SlurmError(Exception):
    """A command of Slurm failed; the text says which and what it said."""


def _run(*command, **environment):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False,
                              env=dict(os.environ, **environment))
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SlurmError(f"{command[0]}: {error}") from error
    if done.returncode != 0:
        raise SlurmError(f"{' '.join(command)}: {done.stderr.strip() or f'exit status {done.returncode}'}")
    return done.stdout


def submit(training, folder):
    """Submits one training, its output goes to folder/JOBID.log. Returns (job id, the command as one would type it)."""
    command = ["sbatch", f"--ml-quality={training.quality()}" if training.keys else "--ml-quality",
               f"--cpus-per-task={training.cores}", f"--job-name={training.name}"]
    program = [str(HERE / "train.sh"), str(HERE / "train" / training.program), *training.arguments]
    out = _run(*command, "--parsable", f"--output={folder}/%j.log", *program)
    match = re.match(r"\d+", out)
    if not match:
        raise SlurmError(f"sbatch answered {out.strip()!r} instead of a job id")
    return int(match.group()), " ".join(command + [f"train.sh train/{training.program}", *training.arguments])


def states(job_ids):
    """{job id: (state, CPUs)} of those that slurmctld knows."""
    found = {}
    out = _run("squeue", "--noheader", "--states=all", f"--jobs={','.join(map(str, job_ids))}", "--format=%i|%T|%C")
    for line in out.splitlines():
        job_id, state, cpus = line.split("|")
        found[int(job_id)] = (state, int(cpus))
    return found


SACCT_FIELDS = ("JobID", "JobName", "State", "Elapsed", "AllocCPUS", "AdminComment")


def accounting(job_ids):
    """{job id: {field: text}} as sacct tells: SACCT_FIELDS, and Start and End in seconds since the epoch."""
    fields = ("Start", "End") + SACCT_FIELDS  # AdminComment stays last, it may hold the separator
    out = _run("sacct", "--allocations", "--noheader", "--parsable2", f"--jobs={','.join(map(str, job_ids))}",
               f"--format={','.join(fields)}", SLURM_TIME_FORMAT="%s")
    rows = (dict(zip(fields, line.split("|", len(fields) - 1))) for line in out.splitlines())
    return {int(row["JobID"]): row for row in rows}


def cluster():
    """(name, cores) of the cluster."""
    name = re.search(r"^ClusterName\s*=\s*(\S+)", _run("scontrol", "show", "config"), re.MULTILINE)
    return name.group(1), int(_run("sinfo", "--noheader", "--format=%C").split("/")[-1])


def priorities():
    """What sprio says of the pending jobs, the text as it is: SITE is the rank's part of the priority."""
    return _run("sprio", "--format=%.7i %.10Y %.10S %.8A %.10F")


def comment(text):
    """What the scheduler wrote into AdminComment: its member "mlq", beside which a site may keep its own; {} if none."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    own = value.get("mlq") if isinstance(value, dict) else None
    return own if isinstance(own, dict) else {}


def printed_reports(log):
    """(reports, iteration, loss) of the last line that a training printed into its output, (0, None, None) if none."""
    lines = re.findall(r"^iteration (\d+) loss (\S+)$", Path(log).read_text(errors="replace"), re.MULTILINE)
    if not lines:
        return 0, None, None
    return len(lines), int(lines[-1][0]), float(lines[-1][1])
