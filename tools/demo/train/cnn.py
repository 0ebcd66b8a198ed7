#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A small convolutional network (PyTorch); cross entropy, or with --metric accuracy the held-out accuracy."""
import torch_loop
from common import digits, options, split
from torch import nn

args = options(__doc__, iterations=20, metric=("loss", "accuracy"), channels=16, rate=0.001, batch=64)
torch_loop.start(args.seed)
images, labels = digits(shifted=True)
images = images[:, None]  # one channel
trained, held_out = (torch_loop.tensors(*part) for part in split(images, labels, args.seed))
c = args.channels
model = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                      nn.Conv2d(c, 2 * c, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                      nn.Flatten(), nn.Dropout(0.2), nn.Linear(8 * c, 10))
torch_loop.train(model, *trained, nn.CrossEntropyLoss(), args.iterations, args.rate, args.batch,
                 torch_loop.accuracy(*held_out) if args.metric == "accuracy" else None)
