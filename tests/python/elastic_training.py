# SPDX-License-Identifier: GPL-2.0-or-later
"""A small elastic training for the tests: logs what each rank trains, until `finish` exists or for a number of epochs.

elastic_training.py FOLDER [EPOCHS]: log-GENERATION-RANK lines [epoch, rank, world, indices]; curve: lines [epoch, loss over
all the data]; final.pt: parameters and how many epochs. PAUSE: seconds that an iteration takes besides; PAUSE_ON=n3:0.1,…: other ones on some nodes.
"""

import json
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset

import mlq.torch

SAMPLES, BATCH = 203, 20
folder = pathlib.Path(sys.argv[1])
epochs = int(sys.argv[2]) if len(sys.argv) > 2 else 0
slow = dict(entry.split(":") for entry in os.environ.get("PAUSE_ON", "").split(",") if entry)
pause = float(slow.get(os.environ.get("SLURMD_NODENAME", ""), os.environ.get("PAUSE", "0")))
torch.set_num_threads(1)
generator = torch.Generator().manual_seed(1)
x = torch.randn(SAMPLES, 6, dtype=torch.float64, generator=generator)
y = torch.sin(x.sum(1, keepdim=True)) + 0.1 * torch.randn(SAMPLES, 1, dtype=torch.float64, generator=generator)
data = TensorDataset(torch.arange(SAMPLES), x, y)
torch.manual_seed(int(os.environ.get("RANK", "0")))  # newcomers must get rank 0's parameters, not draw the same
net = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).double()
optimizer = torch.optim.Adam(net.parameters(), lr=0.003)
loss_of = torch.nn.functional.mse_loss


def over(epoch):
    """Rank 0 notes the loss and says whether that was the last epoch."""
    if dist.get_rank() == 0:
        with open(folder / "curve", "a", encoding="ascii") as curve:
            curve.write(json.dumps([epoch, float(loss_of(net(x), y))]) + "\n")
    last = torch.tensor([int(epoch + 1 == epochs or (not epochs and (folder / "finish").exists()))])
    dist.broadcast(last, 0)
    return bool(last.item())


def train(part):
    loader = DataLoader(data, batch_sampler=part.batches)
    generation = os.environ.get("MLQ_GENERATION", "1")
    epoch = part.epoch
    with open(folder / f"log-{generation}-{part.rank}", "a", encoding="ascii") as log:
        if epoch and part.batches.state_dict()["cursor"] == 0 and over(epoch - 1):  # resized right at its end
            return epoch
        while True:
            part.batches.set_epoch(epoch)
            for indices, inputs, wanted in loader:
                mine = indices.tolist() if part.batches.share.size else []
                loss = loss_of(part.model(inputs), wanted)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                time.sleep(pause)
                log.write(json.dumps([epoch, part.rank, part.world, mine]) + "\n")
                log.flush()
                part.boundary()
            if over(epoch):
                return epoch + 1
            epoch += 1


count = mlq.torch.Elastic(net, optimizer, batches=lambda: mlq.torch.BalancedBatches(data, BATCH, seed=3), timeout=60).run(train)
torch.save({"epochs": count, "parameters": [p.detach() for p in net.parameters()]}, folder / f"final-{os.environ.get('RANK', '0')}.pt")
