# SPDX-License-Identifier: GPL-2.0-or-later
"""Which trainings are submitted when: the same for every system that is compared."""
import pathlib
import random
from dataclasses import dataclass

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"
FOLDERS = ("loss-curves", "slaq-traces")
# obs-022 diverges: it has no reduction to reach a share of
WITHOUT = {"obs-022"}


@dataclass(frozen=True)
class Training:
    name: str
    curve: pathlib.Path
    arrival: float  # seconds after the first
    work: float     # core-seconds
    family: str

    def steps(self, most):
        """That replay.py makes of the curve."""
        return min(len(self.curve.read_text().splitlines()) - 1, most)


def draw(seed, jobs, arrival_mean, work_mean):
    """`jobs` trainings with Poisson arrivals; work uniform from a third to five thirds of its mean."""
    random_ = random.Random(seed)
    curves = sorted(p for folder in FOLDERS for p in (DATA / folder).glob("*.csv") if p.stem not in WITHOUT)
    trainings, arrival = [], 0.0
    for number in range(jobs):
        curve = random_.choice(curves)
        work = work_mean * random_.uniform(1 / 3, 5 / 3)
        trainings.append(Training(f"{number:02}-{curve.stem}", curve, arrival, work, curve.stem))
        arrival += random_.expovariate(1 / arrival_mean)
    return trainings
