# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known of each job at one moment: Slurm's word on its state, mlqd's on its loss."""
from dataclasses import dataclass, field

ACTIVE = ("RUNNING", "COMPLETING", "SUSPENDED", "CONFIGURING")


@dataclass
class Row:
    """One job. fraction: of the reachable loss reduction, 0..1; gain: predicted per core over the horizon."""
    job_id: int
    name: str
    state: str = "PENDING"
    cores: int = 0
    iteration: float = None
    loss: float = None
    fraction: float = None
    gain: float = None
    rank: int = None
    reports: int = 0
    curve: list = field(default_factory=list)   # (time, loss), oldest first
    reason: str = ""

    @property
    def running(self):
        return self.state in ACTIVE

    @property
    def pending(self):
        return self.state == "PENDING"


def update(row, slurm, job):
    """Takes over Slurm's (state, CPUs) and mlqd's job, either may be None."""
    if slurm is not None:
        row.state, row.cores = slurm
    status = (job or {}).get("status") or {}
    row.iteration = status.get("iteration", row.iteration)
    row.loss = status.get("loss", row.loss)
    row.fraction = status.get("fraction", row.fraction)
    row.reports = status.get("points", row.reports)
    row.reason = status.get("reason", row.reason)
    row.gain = status.get("gain_per_core") if row.running or row.pending else None
    row.rank = status.get("rank") if row.pending else None


def take_points(row, points):
    """Takes over the points of mlqd; the newest of them may be ahead of the scheduler's last look."""
    row.curve = [(time, loss) for _, loss, time, _ in points if loss is not None]
    if points:
        row.iteration, loss = points[-1][0], points[-1][1]
        row.loss = float("nan") if loss is None else loss


def ordered(rows):
    """Running jobs by gain per core, pending ones by rank, then those that ended."""
    def key(row):
        if row.running:
            return 0, -(row.gain or 0.0), row.job_id
        if row.pending:
            return 1, row.rank if row.rank else 1 << 30, row.job_id
        return 2, 0.0, row.job_id
    return sorted(rows, key=key)
