# SPDX-License-Identifier: GPL-2.0-or-later
"""The same training once more, with ranks that may come and go between any two iterations.

    sbatch --ml-quality=resize=companion,max=8 -n1 -c1 --wrap "mlq run -- python3 ddp_elastic.py"

Started by anything else that sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT it keeps its size.
"""
import mlq
import mlq.torch
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

images, labels = load_digits(return_X_y=True)
data = TensorDataset(torch.tensor(images / 16.0, dtype=torch.float32), torch.tensor(labels))
torch.manual_seed(1)
network = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
optimizer = torch.optim.SGD(network.parameters(), lr=0.1)


def train(part):  # called anew for each size of the group
    job = mlq.attach()
    loader = DataLoader(data, batch_sampler=part.batches)
    iteration = part.state.get("iteration", 0)
    for epoch in range(part.epoch, 20):
        part.batches.set_epoch(epoch)
        for x, y in loader:
            loss = nn.functional.cross_entropy(part.model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            iteration += 1
            job.report(iteration, loss.item())
            part.boundary(iteration=iteration)  # ranks come and go here, and nowhere else
        if part.rank == 0:
            print(f"epoch {epoch} ranks {part.world} loss of the last batch {loss.item():.4f}", flush=True)


mlq.torch.Elastic(network, optimizer, batches=lambda: mlq.torch.BalancedBatches(data, global_batch=256, seed=1)).run(train)
