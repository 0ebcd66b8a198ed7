# SPDX-License-Identifier: GPL-2.0-or-later
"""Data-parallel training as it was: every rank takes an equal share of each batch, the slowest sets the pace.

Started by anything that sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
"""
import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
images, labels = load_digits(return_X_y=True)
data = TensorDataset(torch.tensor(images / 16.0, dtype=torch.float32), torch.tensor(labels))

torch.manual_seed(1)
batches = DistributedSampler(data, seed=1)
loader = DataLoader(data, batch_size=256 // dist.get_world_size(), sampler=batches)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(20):
    batches.set_epoch(epoch)
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if dist.get_rank() == 0:
        print(f"epoch {epoch} loss of the last batch {loss.item():.4f}", flush=True)
dist.destroy_process_group()
