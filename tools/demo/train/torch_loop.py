# SPDX-License-Identifier: GPL-2.0-or-later
"""The loop that the PyTorch trainings share: epochs of mini-batches, one report an epoch."""
import os

import mlq
import torch
from common import log


def start(seed):
    """Seeds PyTorch and keeps it to the threads that the job asks for (one, unless OMP_NUM_THREADS says more)."""
    torch.manual_seed(seed)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))


def tensors(x, y):
    """The same as tensors: float32 and int64."""
    return torch.as_tensor(x, dtype=torch.float32), torch.as_tensor(y, dtype=torch.int64)


def train(model, x, y, criterion, epochs, rate, batch, measure=None):
    """Trains by Adam. Reports the mean loss of each epoch, or measure(model) after it where one is given."""
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    job = mlq.attach()
    for epoch in range(1, epochs + 1):
        model.train()
        total = 0.0
        for part in torch.randperm(len(x)).split(batch):
            loss = criterion(model(x[part]), y[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(part)
        value = total / len(x)
        if measure is not None:
            model.eval()
            with torch.no_grad():
                value = measure(model)
        job.report(epoch, value)
        log(epoch, value)


def accuracy(x, y):
    """A measure for train(): the share of (x, y) that the model names right."""
    return lambda model: (model(x).argmax(dim=1) == y).double().mean().item()
