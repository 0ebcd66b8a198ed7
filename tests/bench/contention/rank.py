# SPDX-License-Identifier: GPL-2.0-or-later
"""One rank of run: trains a small convolutional net twice side by side, plainly and balanced, in blocks that take turns.

Both trainings start from the same weights and see the same global batches, so their losses can be compared iteration by
iteration. Writes one JSON line per iteration: arm, block, place in the block, seconds, this rank's speed, loss, node state.
"""

import ctypes
import json
import os
import random
import signal
import sys
import time

import torch
import torch.distributed as dist

from mlq.torch import BalancedBatches

SAMPLES = 8192


def net():
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, 10))


def data():
    """Ten noisy patterns: something that a net can learn."""
    generator = torch.Generator().manual_seed(1)
    patterns = torch.randn(10, 3, 32, 32, generator=generator)
    label = torch.randint(0, 10, (SAMPLES,), generator=generator)
    return patterns[label] + 2 * torch.randn(SAMPLES, 3, 32, 32, generator=generator), label


class Arm:
    """One of the two trainings."""

    def __init__(self, name, x, y, options):
        self.name, self.x, self.y = name, x, y
        policy = "lb" if name == "balanced" else "equal"
        self.batches = BalancedBatches(SAMPLES, options["batch"], seed=3, drop_last=True, policy=policy, grain=options["grain"],
                                       predictor=options["predictor"])
        model = torch.nn.parallel.DistributedDataParallel(net())
        # The plain arm has no hook: DistributedDataParallel's own mean over equal batches.
        self.model = self.batches.attach(model) if name == "balanced" else model
        self.optimiser = torch.optim.SGD(self.model.parameters(), 0.02, momentum=0.9)
        self.dealt = self._deal()
        self.seconds = 0.0
        if name == "balanced":
            exchange, measured = self.batches._exchange, self.batches._exchange._seconds
            exchange._seconds = lambda: self._keep(measured())

    def _keep(self, seconds):
        self.seconds = seconds
        return seconds

    def _deal(self):
        while True:
            yield from self.batches

    def iterate(self):
        start = time.perf_counter()
        indices = next(self.dealt)
        share, state = len(indices) / self.batches.global_batch, self.batches.balancer.state
        loss = torch.nn.functional.cross_entropy(self.model(self.x[indices]), self.y[indices])
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        mean = torch.tensor([float(loss) * share])
        took = time.perf_counter() - start
        dist.all_reduce(mean)
        row = {"arm": self.name, "seconds": took, "loss": float(mean), "size": len(indices)}
        if self.name == "balanced":
            row.update(speed=len(indices) / self.seconds, expected=None, **state._asdict())
        return row


def set_nice(nice):
    """Against others of this session, and where Linux weighs whole sessions against each other, against those too."""
    os.setpriority(os.PRIO_PROCESS, 0, nice)
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as file:
            file.write(str(nice))
    except OSError:
        pass


def main():
    options = json.loads(sys.argv[1])
    rank = int(os.environ["RANK"])
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: ends with the script
    os.sched_setaffinity(0, {options["cores"][rank]})
    set_nice(options["nice"])
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=len(options["cores"]))
    x, y = data()
    arms = [Arm(name, x, y, options) for name in options["arms"]]
    with open(options["out"] + f".{rank}", "w", encoding="utf-8") as out:
        for block in range(options["blocks"]):
            for arm in random.Random(block).sample(arms, len(arms)):
                for k in range(options["block"]):
                    row = arm.iterate()
                    print(json.dumps({**row, "block": block, "k": k}), file=out, flush=True)
    dist.barrier()
    os._exit(0)  # PyTorch 1.13's process group may hang as it is taken down


if __name__ == "__main__":
    main()
