#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""An LSTM (PyTorch) that reads an image of a digit row by row; loss: cross entropy."""
import torch_loop
from common import digits, options
from torch import nn

args = options(__doc__, iterations=40, width=48, rate=0.002, batch=64)
torch_loop.start(args.seed)
rows, labels = torch_loop.tensors(*digits())


class RowReader(nn.Module):
    """Images [n, 8, 8] to logits [n, 10]."""

    def __init__(self, width):
        super().__init__()
        self.lstm = nn.LSTM(8, width, batch_first=True)
        self.head = nn.Linear(width, 10)

    def forward(self, images):
        states, _ = self.lstm(images)
        return self.head(states[:, -1])


torch_loop.train(RowReader(args.width), rows, labels, nn.CrossEntropyLoss(), args.iterations, args.rate, args.batch)
