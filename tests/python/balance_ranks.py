# SPDX-License-Identifier: GPL-2.0-or-later
"""What test_balance_torch.py starts: `ranks` processes that train one small net with random sizes, beside a single-process twin.

Prints one JSON line: the largest relative difference between the gradients, the samples each epoch saw, the sizes used.
"""

import faulthandler
import json
import os
import random
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from mlq.balance import FIELDS
from mlq.torch import BalancedBatches

SAMPLES, BATCH, EPOCHS = 403, 50, 2


def net(dtype):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).to(dtype)


class RandomSpeeds:
    """Stands in for the clock: every second rank is slow, and every rank's time is drawn anew, so that the sizes jump about."""

    def __init__(self, batches, rank):
        self.batches, self.random, self.slowness = batches, random.Random(rank), 1 + 4 * (rank % 2)

    def __call__(self):
        return 0.001 * max(1, self.batches.share.size) * self.slowness * self.random.uniform(0.5, 1.5)


def train(rank, options):
    faulthandler.dump_traceback_later(120, exit=True)  # says where a rank waits for another in vain
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(options["port"]))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=options["ranks"])
    dtype = getattr(torch, options["dtype"])
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(SAMPLES, 6, dtype=dtype, generator=generator)
    y = torch.randn(SAMPLES, 1, dtype=dtype, generator=generator)
    data = torch.utils.data.TensorDataset(torch.arange(SAMPLES), x, y)
    workers = options["workers"]

    model, twin = net(dtype), net(dtype)
    batches = BalancedBatches(data, BATCH, seed=5, num_workers=workers, micro_batch=options["micro"])
    # spawned, for PyTorch's threads may be in any state when a process that uses them forks
    loader = torch.utils.data.DataLoader(data, batch_sampler=batches, num_workers=workers,
                                         multiprocessing_context="spawn" if workers else None,
                                         persistent_workers=workers > 0)
    ddp = batches.attach(torch.nn.parallel.DistributedDataParallel(model))
    batches._exchange._seconds = RandomSpeeds(batches, rank)
    optimisers = [torch.optim.SGD(m.parameters(), 0.05) for m in (model, twin)]

    worst, sizes, epochs = 0.0, set(), []
    for epoch in range(EPOCHS):
        batches.set_epoch(epoch)
        order, cursor, seen = batches._order(epoch), 0, []
        for indices, inputs, wanted in loader:
            seen += indices.tolist()[: batches.share.size]
            sizes.add(batches.share.size)
            for optimiser in optimisers:
                optimiser.zero_grad()
            for part, last, a, b in batches.micro_batches(inputs, wanted):
                if last:
                    (part * ((ddp(a) - b) ** 2).mean()).backward()
                else:
                    with ddp.no_sync():
                        (part * ((ddp(a) - b) ** 2).mean()).backward()
            union = order[cursor : cursor + BATCH]
            cursor += BATCH
            ((twin(x[union]) - y[union]) ** 2).mean().backward()
            for p, q in zip(model.parameters(), twin.parameters()):
                worst = max(worst, float((p.grad - q.grad).norm() / q.grad.norm()))
            for optimiser in optimisers:
                optimiser.step()
            state = batches.state_dict()
            assert (state["epoch"], state["cursor"]) == ((epoch, cursor) if cursor < SAMPLES else (epoch + 1, 0)), state
        everybody = [None] * options["ranks"]
        dist.all_gather_object(everybody, seen)
        epochs.append(sorted(sum(everybody, [])))
    if rank == 0:
        exact = all(e == list(range(SAMPLES)) for e in epochs)
        print(json.dumps({"worst": worst, "exact": exact, "sizes": len(sizes)}), flush=True)
    dist.barrier()
    os._exit(0)  # the tensors of all_gather_object() above could deadlock PyTorch 1.13 as it takes the process group down


if __name__ == "__main__":
    chosen = json.loads(sys.argv[1])
    assert FIELDS == 8
    # forked before PyTorch has started a thread: one import serves all ranks
    mp.start_processes(train, args=(chosen,), nprocs=chosen["ranks"], start_method="fork")
