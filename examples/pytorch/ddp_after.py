# SPDX-License-Identifier: GPL-2.0-or-later
"""The same training with balanced batches: a slower rank takes fewer samples, and all finish together.

Started by anything that sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
"""
import mlq.torch
import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

dist.init_process_group("gloo")
images, labels = load_digits(return_X_y=True)
data = TensorDataset(torch.tensor(images / 16.0, dtype=torch.float32), torch.tensor(labels))

torch.manual_seed(1)
batches = mlq.torch.BalancedBatches(data, global_batch=256, seed=1)
loader = DataLoader(data, batch_sampler=batches)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)))
model = batches.attach(model)  # the mean gradient of a rank counts by its share
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
