# SPDX-License-Identifier: GPL-2.0-or-later
"""A classifier of handwritten digits, as it was: nothing of it knows Slurm."""
import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--epochs", type=int, default=50)
args = parser.parse_args()

torch.manual_seed(1)
images, labels = load_digits(return_X_y=True)
x, y = torch.tensor(images / 16.0, dtype=torch.float32), torch.tensor(labels)
model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(1, args.epochs + 1):
    total = 0.0
    for part in torch.randperm(len(x)).split(64):
        loss = nn.functional.cross_entropy(model(x[part]), y[part])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(part)
    print(f"epoch {epoch} loss {total / len(x):.6f}")
