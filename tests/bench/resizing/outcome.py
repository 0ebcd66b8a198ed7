# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run came to: times to shares of each job's loss reduction, from what the trainings themselves wrote."""
import statistics
from dataclasses import dataclass

SHARES = (0.5, 0.9, 0.95)


@dataclass(frozen=True)
class Step:
    time: float
    loss: float
    cores: int


def read_steps(path):
    """Lines `time iteration loss cores` of replay.py, in order."""
    steps = []
    for line in path.read_text().splitlines():
        time, _, loss, cores = line.split()
        steps.append(Step(float(time), float(loss), int(cores)))
    return steps


def seconds_to(share, steps, submitted):
    """From submission to the first step at which the loss had fallen by this share of its whole fall."""
    first, lowest = steps[0].loss, min(step.loss for step in steps)
    wanted = first - share * (first - lowest)
    return next(step.time for step in steps if step.loss <= wanted) - submitted


@dataclass(frozen=True)
class JobOutcome:
    name: str
    to: dict            # share: seconds
    finish: float       # seconds from submission
    core_hours: float
    moves: int
    lost: float         # seconds without a step because of moves


def summary(outcomes):
    """Means over jobs; lost time a move over all moves."""
    moves = sum(o.moves for o in outcomes)
    return {
        **{f"t{round(100 * share)}": statistics.fmean(o.to[share] for o in outcomes) for share in SHARES},
        "finish": statistics.fmean(o.finish for o in outcomes),
        "core_hours": sum(o.core_hours for o in outcomes),
        "moves_a_job": moves / len(outcomes),
        "lost_a_move": sum(o.lost for o in outcomes) / moves if moves else 0.0,
    }
